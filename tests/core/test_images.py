"""Images: what is taken and how it is changed, what is refused and why, and the copies that drafts refer to."""

from __future__ import annotations

import io
import os
import stat
import time

import pytest
from PIL import Image

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted
from agent_core.images import child as image_child
from agent_core.images import clipboard as clipboard_image
from agent_core.images import reader as images
from agent_core.images.kept import KeptImages, at_most
from agent_core.messages import ImagePart, user
from agent_core.sandbox.probe import layers
from agent_core.text.image_refs import REFERENCE, count, plain
from agent_core.text.kinds import image_kind, kind_of
from tests.rows import each_row

from .image_support import image, noise, opened, png_that_says


def refused(data: bytes, name: str = "a.png") -> AgentError:
    with pytest.raises(AgentError) as caught:
        images.fit(data, name)
    assert name in caught.value.text
    return caught.value


# -- what is taken ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words", "sent"),
    [
        (image(2000, 1000), "2000x1000 PNG", (1024, 512)),
        (image(1000, 1600, "JPEG"), "1000x1600 JPEG", (640, 1024)),
        (image(300, 200, "GIF"), "300x200 GIF", (300, 200)),
        (image(40, 30, "BMP"), "40x30 BMP", (40, 30)),
        (image(1, 5000, "WEBP"), "1x5000 WebP", (1, 1024)),
    ],
)
def test_the_longer_side_is_brought_to_a_bound_and_nothing_is_enlarged(data, words, sent):
    picture = images.fit(data, "a")
    assert (picture.words, opened(picture.part).size) == (words, sent)


def test_a_photo_is_turned_upright_and_says_nothing_of_where_it_was_taken():
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side
    exif[0x010E] = "at home"
    Image.new("RGB", (600, 400), "red").save(out, "JPEG", exif=exif, comment=b"secret")
    picture = images.fit(out.getvalue(), "a.jpg")
    assert picture.words == "400x600 JPEG"
    shown = opened(picture.part)
    assert shown.size == (400, 600)
    assert not dict(shown.getexif())
    assert not {"exif", "comment"} & shown.info.keys()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (image(400, 400), "image/png"),  # one colour: a PNG is next to nothing
        (noise(400, 400), "image/jpeg"),
        (image(40, 40, mode="RGBA", colour=(255, 0, 0, 90)), "image/png"),  # what can be seen through stays so
    ],
)
def test_the_smaller_of_two_forms_is_sent(data, media_type):
    assert images.fit(data, "a").part.media_type == media_type


@pytest.mark.parametrize(
    "data", [image(8, 8, transparency=(0, 128, 128)), image(8, 8, mode="L", colour=7, transparency=7)]
)
def test_a_colour_that_stands_for_nothing_is_seen_through(data):
    assert opened(images.fit(data, "a").part).getpixel((4, 4))[3] == 0


def test_the_first_picture_of_a_film_is_taken_and_sixteen_bits_of_grey_keep_their_shades():
    film = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    frames[0].save(film, "GIF", save_all=True, append_images=frames[1:])
    assert opened(images.fit(film.getvalue(), "a").part).convert("RGB").getpixel((4, 4)) == (255, 0, 0)
    grey = io.BytesIO()
    Image.new("I;16", (8, 8), 0x8000).save(grey, "PNG")
    assert opened(images.fit(grey.getvalue(), "a").part).convert("L").getpixel((4, 4)) == 0x80


# -- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"x" * limits.IMAGE_FILE, "image_too_large", "12 MB"),
        (b"", "image_empty", "empty"),
        (b"%PDF-1.7\n", "image_kind", "a PDF document"),
        (b"BMW makes cars", "image_kind", "PNG, JPEG, GIF, WebP or BMP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image_svg", "SVG"),
        (b"<?xml version='1.0'?>\n<!-- x -->\n<svg/>", "image_svg", "PNG"),
        (b"\x89PNG\r\n\x1a\nnothing", "image_undecodable", "broken"),
        (noise(300, 300)[:2000], "image_undecodable", "cut short"),
        (png_that_says(50_000, 50_000), "image_too_many_pixels", "50 million pixels"),
        (png_that_says(2_000, 2_000), "image_undecodable", "cut short"),
        (png_that_says(0, 0), "image_undecodable", "broken"),
    ],
)
def test_what_is_refused_says_why_and_takes_no_time(data, code, words):
    started = time.monotonic()
    error = refused(data)
    assert error.code == code
    assert words in error.text
    assert time.monotonic() - started < 15


def test_twelve_megabytes_are_looked_at_and_a_byte_more_is_not(tmp_path):
    file = tmp_path / "a.png"
    data = image(10, 10)
    file.write_bytes(data + b"\0" * (limits.IMAGE_FILE - len(data)))
    assert images.fit(images.read(file), "a.png").words == "10x10 PNG"
    with open(file, "ab") as more:
        more.write(b"\0")
    assert refused(images.read(file)).code == "image_too_large"


def test_a_jpeg_that_goes_over_its_pixels_without_end_is_refused():
    out = io.BytesIO()
    Image.new("RGB", (64, 64)).save(out, "JPEG", progressive=True)
    data = out.getvalue()
    scan = data.index(b"\xff\xda")
    assert refused(data[:scan] + data[scan:-2] * 200 + data[-2:]).code == "image_undecodable"


def test_what_the_decoder_may_use_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "IMAGE_MEMORY", 64 * limits.MB)
    assert refused(image(4_000, 4_000)).code in ("image_too_many_pixels", "image_undecodable")
    monkeypatch.undo()
    monkeypatch.setattr(limits, "IMAGE_SECONDS", 0.0)
    assert refused(image(10, 10)).code == "image_slow"


@pytest.mark.skipif(not layers().can_confine, reason="the kernel confines nothing here")
@pytest.mark.parametrize("decode", [images.fit, lambda data, name: images.draw(data, name, 9, 9, "000000")])
def test_a_decoder_that_was_taken_over_writes_nothing_and_fills_no_memory(tmp_path, monkeypatch, decode):
    child, written = tmp_path / "child.py", tmp_path / "written"
    child.write_text(
        'import sys\nprint(\'{"width": 1, "height": 1, "across": 1, "media_type": "image/png"}\', flush=True)\n'
        f"try:\n    open({str(written)!r}, 'w')\nexcept OSError:\n    pass\n"
        "while True: sys.stdout.write('x' * 100_000)\n"
    )
    monkeypatch.setattr(images, "_CHILD", str(child))
    with pytest.raises(AgentError) as caught:
        decode(image(10, 10), "a")
    assert caught.value.code == "image_undecodable"
    assert not written.exists()


def test_a_stop_ends_the_decoding():
    stopped = CancelScope()
    stopped.cancel()
    with pytest.raises(Interrupted):
        images.fit(image(10, 10), "a", stopped)


def test_places_without_an_image_are_named(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for path, code in (("none.png", "image_missing"), ("pipe.png", "image_no_file"), (".", "image_no_file")):
        with pytest.raises(AgentError) as caught:
            images.read(tmp_path / path)
        assert caught.value.code == code
    with pytest.raises(AgentError) as caught:
        images.read(f"{tmp_path}/a\0b")
    assert caught.value.code == "image_unreadable"


@each_row(
    ("data", "kind", "is_image"),
    [
        (image(2, 2), "a PNG image", True),
        (image(2, 2, "WEBP"), "a WebP image", True),
        (image(2, 2, "TIFF"), "a TIFF image", False),
        (b"PK\x03\x04rest", "a ZIP archive, or a document or package that is one inside", False),
        (b"\x7fELF\2", "a program or library (ELF)", False),
        (b"\0\0\0\x18ftypavif", "an AVIF or HEIC image", False),
        (b"plain words", "", False),
        (b"BM and more words", "", False),
    ],
)
def test_a_file_is_known_by_its_first_bytes(data, kind, is_image):
    assert (kind_of(data), bool(image_kind(data))) == (kind, is_image)


# -- drawn in cells -----------------------------------------------------------------------------------------------


def test_a_drawing_fits_and_keeps_its_shape():
    drawing = images.draw(image(800, 600), "a", 40, 40, "000000")
    assert (drawing.width, drawing.height, drawing.across) == (800, 600, 40)
    rows = len(drawing.cells) // 7 // drawing.across
    assert rows == 15  # a cell is twice as high as wide
    assert set(drawing.cells[::7]) == {0}
    low = images.draw(image(800, 600), "a", 40, 6, "000000")
    assert len(low.cells) // 7 // low.across == 6


def test_what_can_be_seen_through_stands_on_the_ground():
    drawing = images.draw(image(8, 8, mode="RGBA", colour=(0, 0, 0, 0)), "a", 4, 2, "1a1d23")
    assert drawing.cells[:7] == bytes((0, 0x1A, 0x1D, 0x23, 0x1A, 0x1D, 0x23))


BLACK, WHITE = (0, 0, 0), (255, 255, 255)


@each_row("part", image_child.PARTS[1:])
def test_a_cell_has_the_glyph_that_its_pixels_ask_for(part):
    four = [WHITE if part >> bit & 1 else BLACK for bit in range(4)]
    index, *colours = image_child.cell(four)
    assert (image_child.PARTS[index], bytes(colours)) == (part, bytes((*WHITE, *BLACK)))


# -- copies -------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path):
    return KeptImages(tmp_path / "images")


def test_a_message_gets_the_images_that_its_text_names(kept, tmp_path):
    (tmp_path / "a [1].png").write_bytes(image(80, 60))
    reference = kept.take_file(tmp_path / "a [1].png", "a [1].png")
    assert REFERENCE.fullmatch(reference)
    assert count(f"{reference} {reference}") == 1
    found = kept.attach(user(f"What is {reference}?"))
    assert found.message.text == "What is [image: a (1).png 80x60 PNG]?"
    assert [opened(part).size for part in found.message.parts] == [(80, 60)]
    assert found.problems == ()
    assert plain(reference) == "[image: a (1).png 80x60 PNG]"
    (copy,) = (tmp_path / "images").iterdir()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_another_program_finds_the_copy_and_a_changed_one_is_none(kept, tmp_path):
    reference = kept.take(image(8, 8), "a")
    name = REFERENCE.findall(reference)[0][0]
    assert KeptImages(tmp_path / "images").find(name) is not None
    (copy,) = (tmp_path / "images").iterdir()
    copy.write_bytes(image(9, 9))
    found = kept.attach(user(f"Look {reference}"))
    assert (found.message.parts, [p.code for p in found.problems]) == ((), ["image_gone"])
    assert found.message.text == "Look [image: a 8x8 PNG]"


def test_a_message_takes_four_images_and_says_so_of_the_fifth(kept):
    text = " ".join(
        kept.keep(images.Picture(ImagePart("image/png", f"QUFB{n:04}"), 1, 1, "PNG"), "a") for n in range(5)
    )
    found = kept.attach(user(text))
    assert (len(found.message.parts), [p.code for p in found.problems]) == (4, ["too_many_images"])
    at_most("1234")
    with pytest.raises(AgentError):
        at_most("12345")


def test_copies_are_bounded_and_the_newest_stay(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "IMAGES_KEPT", 3)
    parts = [ImagePart("image/png", f"QUFB{n:04}") for n in range(5)]
    references = []
    for part in parts:
        references.append(kept.keep(images.Picture(part, 1, 1, "PNG"), "a"))
        for file in (tmp_path / "images").iterdir():
            os.utime(file, (file.stat().st_mtime - 10,) * 2)
    there = [kept.find(REFERENCE.findall(reference)[0][0]) is not None for reference in references]
    assert there == [False, False, True, True, True]


@pytest.mark.parametrize("text", ["[image 12 a]", "[image: a.png]", "[image zzzzzzzzzzzzzzzz a]", "no image"])
def test_other_brackets_are_text(kept, text):
    assert kept.attach(user(text)).message.text == text


# -- the clipboard ------------------------------------------------------------------------------------------------


def clipboard(tmp_path, **programs: str) -> dict[str, str]:
    """An environment in which these shell scripts are the only programs beside the shell's own."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (tmp_path / "shot.png").write_bytes(image(7, 5))
    for name, script in programs.items():
        file = folder / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return {"PATH": str(folder), "SHOT": str(tmp_path / "shot.png")}


WL = 'case "$*" in *--list-types*) echo text/html; echo image/png;; *"--type image/png"*) /bin/cat "$SHOT";; esac'
XCLIP = 'case "$*" in *TARGETS*) echo TARGETS; echo image/png;; *"-t image/png"*) /bin/cat "$SHOT";; esac'
MAC = "printf '\\302\\253data PNGf89504E470D0A1A0A\\302\\273\\n'"


@pytest.mark.parametrize(
    ("programs", "env", "platform"),
    [
        ({"wl_paste": WL}, {"WAYLAND_DISPLAY": "wayland-0"}, "linux"),
        ({"xclip": XCLIP}, {"DISPLAY": ":0"}, "linux"),
        ({"xclip": XCLIP}, {"DISPLAY": "localhost:10.0", "SSH_TTY": "/dev/pts/1"}, "linux"),
        ({"pngpaste": '/bin/cat "$SHOT"'}, {}, "darwin"),
        ({"osascript": MAC}, {}, "darwin"),
    ],
)
def test_the_desktops_own_program_gives_the_image(tmp_path, programs, env, platform):
    data = clipboard_image.read(clipboard(tmp_path, **programs) | env, platform)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("programs", "env", "platform", "code", "words"),
    [
        ({}, {"WAYLAND_DISPLAY": "wayland-0"}, "linux", "clipboard_program", "wl-paste is missing"),
        ({}, {"DISPLAY": ":0"}, "linux", "clipboard_program", "xclip is missing"),
        ({}, {"SSH_CONNECTION": "1 2 3 4"}, "linux", "clipboard_remote", "/image PATH"),
        ({}, {"SSH_TTY": "x", "DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "linux", "clipboard_remote", "SSH"),
        ({}, {}, "linux", "clipboard_none", "/image PATH"),
        ({"xclip": "echo UTF8_STRING"}, {"DISPLAY": ":0"}, "linux", "clipboard_no_image", "no image"),
        ({"osascript": "exit 1"}, {}, "darwin", "clipboard_no_image", "no image"),
    ],
)
def test_without_an_image_there_the_reason_is_told(tmp_path, programs, env, platform, code, words):
    with pytest.raises(AgentError) as caught:
        clipboard_image.read(clipboard(tmp_path, **programs) | env, platform)
    assert caught.value.code == code
    assert words in caught.value.text
    assert "Text is pasted by the terminal's own key" in caught.value.text


def test_a_clipboard_that_does_not_answer_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "CLIPBOARD_SECONDS", 0.3)
    with pytest.raises(AgentError) as caught:
        clipboard_image.read(clipboard(tmp_path, xclip="exec /bin/sleep 30") | {"DISPLAY": ":0"}, "linux")
    assert caught.value.code == "clipboard_slow"


def test_an_endless_clipboard_is_read_no_further_than_an_image_may_be(tmp_path):
    script = 'case "$*" in *TARGETS*) echo image/png;; *) exec /bin/cat /dev/zero;; esac'
    data = clipboard_image.read(clipboard(tmp_path, xclip=script) | {"DISPLAY": ":0"}, "linux")
    assert len(data) == limits.IMAGE_FILE + 1
