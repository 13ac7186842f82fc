"""A user's themes while the program runs: saved, renamed, broken, deleted, and the folder coming and going."""

import os
import shutil
import threading
import time

import pytest

from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.watch import watch_themes

GOOD = 'base: nanoherm-dark\nroles:\n  accent: "#b0ffb0"\n'
OTHER = 'base: nanoherm-dark\nroles:\n  accent: "#ffb0ff"\n'


class Watched:
    """A themes folder that is watched, and what has been told of it."""

    def __init__(self, folder):
        self.folder = folder
        self.known, self.told = load_themes(folder)
        self.changes = []
        self.threads = set()

    def __enter__(self):
        self._watching = watch_themes(self.folder, self._changed, known=self.known, told=self.told)
        return self

    def _changed(self, change):
        self.threads.add(threading.current_thread().name)
        self.changes.append(change)

    def __exit__(self, *exc):
        begun = time.monotonic()
        self._watching.stop()
        self._watching.wait()
        assert time.monotonic() - begun < 2
        assert "themes" not in {thread.name for thread in threading.enumerate()}

    @property
    def themes(self):
        return self.changes[-1].themes if self.changes else self.known

    @property
    def broken(self):
        return [fault for change in self.changes for fault in change.broken]

    def until(self, condition, seconds=15):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, (self.changes, self.broken)
            time.sleep(0.02)

    def accent(self, name):
        return self.themes[name].roles["accent"] if name in self.themes else None


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "themes"
    path.mkdir()
    return path


def save_in_place(path, text):
    path.write_text(text)


def save_by_rename(path, text):
    """As vim, emacs and most editors do: a temporary file, the old one aside, then a rename."""
    new = path.with_name(f".{path.name}.tmp")
    new.write_text(text)
    if path.exists():
        path.rename(path.with_name(path.name + "~"))
    new.replace(path)


@pytest.mark.parametrize("save", [save_in_place, save_by_rename])
def test_a_theme_is_read_when_it_is_saved_and_again_when_it_is_saved_again(folder, save):
    with Watched(folder) as watched:
        save(folder / "mine.yaml", GOOD)
        watched.until(lambda: watched.accent("mine") == "#b0ffb0")
        save(folder / "mine.yaml", OTHER)
        watched.until(lambda: watched.accent("mine") == "#ffb0ff")
        assert watched.broken == []
        assert watched.threads == {"themes"}
        assert "nanoherm-dark" in watched.themes


def test_what_is_there_at_the_start_is_not_told_again_and_nothing_is_told_of_other_files(folder):
    (folder / "mine.yaml").write_text(GOOD)
    (folder / "broken.yaml").write_text("nonsense")
    os.utime(folder / "broken.yaml", (1, 1))
    with Watched(folder) as watched:
        time.sleep(0.5)
        (folder / ".mine.yaml.swp").write_text("x")
        (folder / ".#mine.yaml").write_text("x")
        (folder / "notes.txt").write_text("x")
        (folder / "folder.yaml").mkdir()
        os.utime(folder / "mine.yaml")
        time.sleep(1.0)
        assert watched.changes == []


def test_a_deleted_theme_goes_and_a_renamed_one_keeps_the_name_it_has_inside(folder):
    path = folder / "mine.yaml"
    path.write_text("name: own\n" + GOOD)
    with Watched(folder) as watched:
        path.rename(folder / "other.yml")
        time.sleep(0.8)
        assert watched.accent("own") == "#b0ffb0"
        (folder / "other.yml").unlink()
        watched.until(lambda: "own" not in watched.themes)


def test_a_broken_theme_is_told_once_a_save_with_file_and_line_and_the_last_good_one_stays(folder):
    path = folder / "mine.yaml"
    with Watched(folder) as watched:
        path.write_text(GOOD)
        watched.until(lambda: "mine" in watched.themes)
        for number in (1, 2):
            save_by_rename(path, GOOD + "  txt: '#ffffff'\n")
            watched.until(lambda number=number: len(watched.broken) == number)
            assert watched.broken[-1].text.startswith(f"{path}:4: no role is called 'txt'")
            time.sleep(0.6)
            assert len(watched.broken) == number
            assert watched.accent("mine") == "#b0ffb0"
        save_by_rename(path, OTHER)
        watched.until(lambda: watched.accent("mine") == "#ffb0ff")
        assert len(watched.broken) == 2


def test_a_theme_whose_words_cannot_be_read_is_broken(folder):
    with Watched(folder) as watched:
        (folder / "dim.yaml").write_text('base: nanoherm-dark\nroles:\n  code: "#c9d3f5"\n  muted: "#444444"\n')
        watched.until(lambda: watched.broken)
        text = watched.broken[0].text
        assert text.startswith(f"{folder / 'dim.yaml'}:4: muted on ")
        assert "words need 4.5:1" in text
        assert "dim" not in watched.themes


def test_a_half_written_file_is_not_told_as_broken(folder):
    with Watched(folder) as watched:
        text = GOOD.encode()
        for end in range(0, len(text) + 1, 8):  # for longer than changes are gathered
            (folder / "mine.yaml").write_bytes(text[:end])
            time.sleep(0.1)
        (folder / "mine.yaml").write_bytes(text)
        watched.until(lambda: watched.accent("mine") == "#b0ffb0")
        assert watched.broken == []


def test_the_folder_may_come_later_go_away_and_be_replaced(tmp_path):
    folder = tmp_path / "home" / "themes"
    with Watched(folder) as watched:
        time.sleep(0.3)
        folder.mkdir(parents=True)
        (folder / "mine.yaml").write_text(GOOD)
        watched.until(lambda: "mine" in watched.themes)
        shutil.rmtree(folder)
        watched.until(lambda: "mine" not in watched.themes)
        other = tmp_path / "other"
        other.mkdir()
        (other / "mine.yaml").write_text(OTHER)
        folder.symlink_to(other)
        watched.until(lambda: watched.accent("mine") == "#ffb0ff")


def test_a_fifo_in_the_folder_holds_up_nothing(folder):
    os.mkfifo(folder / "pipe.yaml")
    with Watched(folder) as watched:
        (folder / "mine.yaml").write_text(GOOD)
        watched.until(lambda: "mine" in watched.themes)
