"""read_file and list_dir beyond plain text: notebooks, images, old encodings, and files that are none."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace

import pytest

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.messages import ImagePart, ToolResult, from_json, to_json, tool
from agent_core.text.encoding import decode, encode
from tests.rows import each_row

from .image_support import image, opened
from .tool_support import TOOLS, call, context


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


@pytest.fixture
def ws(ctx):
    return ctx.workspace


def fails(ctx, name, code, **args) -> str:
    with pytest.raises(ToolFailure) as caught:
        call(ctx, name, **args)
    assert caught.value.code == code
    return caught.value.text


# -- encodings ----------------------------------------------------------------------------------------------------

CODE = "x = 1\n" * 40 + "# "
ZH, ZH_OLD = "打开文件时出错：权限不足", "開啟檔案時發生錯誤：權限不足"
JA, KO, RU = "データベース接続に失敗しました", "데이터베이스 연결에 실패했습니다", "Этот файл содержит настройки"
FR = "Un résumé très court, où l'été dure — peut-être\n"


@each_row("before", ["", CODE])
@each_row(
    ("text", "written", "read"),
    [
        (ZH, "utf-8", "utf-8"),
        (ZH, "utf-8-sig", "utf-8"),
        (ZH, "utf-16", "utf-16-le"),
        (ZH, "gb18030", "gb18030"),
        ("注释", "gbk", "gb18030"),
        ("朱镕基", "gbk", "gb18030"),
        (FR, "cp1252", "cp1252"),
        (FR.replace("—", "-"), "latin-1", "latin-1"),
        ("±5 °C ½ ©", "latin-1", "latin-1"),
        # What looks alike and is another's is refused: it would be read as something that nobody wrote.
        (ZH_OLD, "big5", None),
        (JA, "shift_jis", None),
        (JA, "euc_jp", None),
        ("関数の説明", "euc_jp", None),
        (KO, "euc_kr", None),
        (RU, "cp1251", None),
        (RU, "koi8_r", None),
    ],
)
def test_text_is_read_as_it_was_written_or_not_at_all(before, text, written, read):
    data = (before + text).encode(written)
    if read is None:
        with pytest.raises(ToolFailure) as caught:
            decode(data)
        assert "iconv" in caught.value.text
        return
    decoded = decode(data)
    assert (decoded.text, decoded.encoding) == (before + text, read)
    assert encode(decoded.text, decoded) == data


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_wide_text_without_a_mark_is_known_by_its_zeros(order):
    text = "name: 中文内容\r\nvalue: 2\r\n" + CODE
    decoded = decode(text.encode(order))
    assert (decoded.text, decoded.encoding, decoded.bom) == (text, order, False)
    assert encode(decoded.text, decoded) == text.encode(order)


@pytest.mark.parametrize("data", [b"\0" * 40, b"\1\0\2\0" * 20, b"a\0b", b"text\0and more", "半\0".encode() * 9])
def test_zeros_alone_make_no_wide_text(data):
    with pytest.raises(ToolFailure) as caught:
        decode(data)
    assert caught.value.code == "binary"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\0", "a PDF document"),
        (b"PK\x03\x04\x14\0\0\0", "a ZIP archive"),
        (b"\x7fELF\x02\x01\x01\0", "a program or library"),
        (b"SQLite format 3\0" + b"\1" * 20, "an SQLite database"),
        (b"\0\1\2\3", "file says what it is"),
    ],
)
def test_what_is_no_text_is_named(ctx, ws, data, words):
    (ws / "a").write_bytes(data)
    assert words in fails(ctx, "read_file", "binary", path="a")


# -- notebooks ----------------------------------------------------------------------------------------------------


def notebook(*cells) -> str:
    return json.dumps({"nbformat": 4, "cells": cells}, indent=1)


def test_a_notebook_is_shown_by_its_cells(ctx, ws):
    code = {
        "cell_type": "code",
        "execution_count": 3,
        "source": ["import pandas\n", "df.plot()"],
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
            {"output_type": "display_data", "data": {"text/plain": "<Axes>", "image/png": "iVBORw0KGgo" * 9_000}},
            {"output_type": "error", "ename": "E", "evalue": "x", "traceback": ["\x1b[31mBoom\x1b[0m", "at 1"]},
        ],
    }
    (ws / "a.ipynb").write_text(notebook({"cell_type": "markdown", "source": "# 标题"}, code))
    result = call(ctx, "read_file", path="a.ipynb")
    lines = result.text.split("\n")
    assert lines[:-1] == [
        *("## cell 1: markdown", "# 标题", ""),
        *("## cell 2: code, run 3", "import pandas", "df.plot()"),
        *("# output (stdout):", "one", "two"),
        *("# output:", "<Axes>", "[image/png, not shown]"),
        *("# error:", "Boom", "at 1", ""),
    ]
    assert "edit_file and write_file work on the file's JSON" in lines[-1]
    assert result.outcome == "2 cells"


def test_a_notebook_that_was_read_can_be_edited_as_text(ctx, ws):
    (ws / "a.ipynb").write_text(notebook({"cell_type": "code", "source": ["x = 1\n"], "outputs": []}))
    call(ctx, "read_file", path="a.ipynb")
    call(ctx, "edit_file", path="a.ipynb", old_text='"x = 1\\n"', new_text='"x = 2\\n"')
    assert json.loads((ws / "a.ipynb").read_text())["cells"][0]["source"] == ["x = 2\n"]


def test_long_outputs_are_cut_and_a_long_notebook_comes_in_parts(ctx, ws):
    long = {"output_type": "stream", "text": "a" * 50_000 + "THE END"}
    cells = [{"cell_type": "code", "source": f"cell_{n}()", "outputs": [long] * 30} for n in range(60)]
    (ws / "a.ipynb").write_text(notebook(*cells[:2]))
    text = call(ctx, "read_file", path="a.ipynb").text
    assert "characters of output left out" in text
    assert "THE END" in text
    assert "[10 more outputs]" in call(ctx, "read_file", path="a.ipynb", offset=60).text
    cells = [{"cell_type": "code", "source": f"cell_{n}()\n" * 20, "outputs": []} for n in range(200)]
    (ws / "a.ipynb").write_text(notebook(*cells))
    seen, offset = "", 1
    while offset:
        part = call(ctx, "read_file", path="a.ipynb", offset=offset).text
        assert len(part.encode()) <= limits.TOOL_RESULT
        seen += part
        offset = int(part.rpartition("offset=")[2].partition(";")[0]) if "offset=" in part else 0
    assert all(f"cell_{n}()" in seen for n in range(200))


@pytest.mark.parametrize(
    "text", ['{"cells": [', "[]", '{"cells": 3}', "words", "[" * 100_000, '{"nbformat": "x", "cells": []}']
)
def test_what_only_has_a_notebooks_name_is_text(ctx, ws, text):
    (ws / "a.ipynb").write_text(text)
    assert call(ctx, "read_file", path="a.ipynb").text.startswith("1\t")


@pytest.mark.parametrize(
    "cell", [{}, {"cell_type": 5, "source": {"a": 1}, "outputs": "x"}, {"outputs": [1, {}, {"data": 7}]}, "x", None]
)
def test_an_odd_cell_breaks_nothing(ctx, ws, cell):
    (ws / "a.ipynb").write_text(notebook(cell, {"cell_type": "raw", "source": "last"}))
    assert "last" in call(ctx, "read_file", path="a.ipynb").text


# -- images -------------------------------------------------------------------------------------------------------


def test_a_model_that_sees_is_given_the_image_and_another_its_size(ctx, ws):
    (ws / "shot.png").write_bytes(image(1200, 300))
    seen = call(replace(ctx, sees_images=True), "read_file", path="shot.png")
    assert [opened(part).size for part in seen.images] == [(1024, 256)]
    assert seen.text.startswith("[image 1200x300 PNG, ")
    assert seen.outcome == "1200x300 PNG"
    told = call(ctx, "read_file", path="shot.png")
    assert told.images == ()
    assert "cannot be shown" in told.text


def test_an_image_with_another_name_is_one_and_a_text_with_an_images_name_is_text(ctx, ws):
    (ws / "a.txt").write_bytes(image(20, 10, "GIF"))
    assert call(ctx, "read_file", path="a.txt").outcome == "20x10 GIF"
    (ws / "a.png").write_text("not yet\n")
    assert call(ctx, "read_file", path="a.png").text == "1\tnot yet"
    (ws / "b.png").write_text("x" * (limits.READ_FILE + 1))
    assert "sed -n" in fails(ctx, "read_file", "too_large", path="b.png")
    os.truncate(ws / "b.png", limits.IMAGE_FILE + 1)
    assert "12 MB, the most that is taken of an image" in fails(ctx, "read_file", "too_large", path="b.png")


def test_a_broken_image_is_refused_with_words(ctx, ws):
    (ws / "a.png").write_bytes(image(20, 10)[:40])
    assert "broken, or cut short" in fails(ctx, "read_file", "image_undecodable", path="a.png")


def test_a_results_images_are_kept_with_its_message():
    part = ImagePart("image/png", "QUJD")
    message = tool(ToolResult("c1", "read_file", "[image]", images=(part,)))
    assert (message.parts, message.result.images) == ((part,), ())
    again = from_json(json.loads(json.dumps(to_json(message))))
    assert again == message


# -- files that are none --------------------------------------------------------------------------------------------


def test_every_odd_file_has_a_useful_error(ctx, ws, tmp_path):
    with open(ws / "sparse", "wb") as file:
        file.truncate(10 * 1024 * limits.MB)
    assert "sed -n" in fails(ctx, "read_file", "too_large", path="sparse")
    os.mkfifo(ws / "pipe")
    assert "pipe" in fails(ctx, "read_file", "denied", path="pipe")
    assert "list it" in fails(ctx, "read_file", "directory", path=".")
    (ws / "round").symlink_to("round")
    with pytest.raises(ToolFailure):
        call(ctx, "read_file", path="round")
    (ws / "lost").symlink_to("nowhere")
    with pytest.raises(ToolFailure):
        call(ctx, "read_file", path="lost")
    full = ws / "full"
    full.write_bytes(b"a\n" * (limits.READ_FILE // 2))
    assert "go on with offset=" in call(ctx, "read_file", path="full").text
    with open(full, "ab") as file:
        file.write(b"a")
    advice = fails(ctx, "read_file", "too_large", path="full")
    assert f"{limits.READ_FILE:,} bytes" in advice
    shown = subprocess.run(["sed", "-n", "100,200p", str(full)], capture_output=True, check=True)  # what it advises
    assert shown.stdout == b"a\n" * 101


# -- list_dir -----------------------------------------------------------------------------------------------------


def test_a_listing_says_where_links_lead(ctx, ws):
    (ws / "real").mkdir()
    (ws / "to_folder").symlink_to("real")
    (ws / "to_nothing").symlink_to("gone")
    (ws / "round").symlink_to("round")
    (ws / "数据.csv").write_text("a")
    (ws / "odd\x1b[31m\n.txt").write_text("a")
    text = call(ctx, "list_dir").text
    assert "to_folder -> real/" in text
    assert "to_nothing -> gone (leads nowhere)" in text
    assert "round -> round (leads nowhere)" in text
    assert "数据.csv  1 B" in text
    assert "\x1b" not in text
    assert len(text.splitlines()) == 6


def test_a_huge_folder_is_bounded_while_it_is_read(ctx, ws, monkeypatch):
    for bound, small in (("WALK_FILES", 60), ("LIST_STEP", 40), ("LIST_ENTRIES", 50)):
        monkeypatch.setattr(limits, bound, small)
    for number in range(70):
        (ws / f"{number:05}").touch()
    result = call(ctx, "list_dir")
    assert result.outcome == "60+ entries"
    assert "[50 of 60+ entries; use glob" in result.text
    ctx.cancel.cancel()
    with pytest.raises(Exception, match="Stopped"):
        call(ctx, "list_dir")


def test_the_schema_stays_small():
    assert len(json.dumps(dict(TOOLS["read_file"].parameters)) + TOOLS["read_file"].description) < 600
