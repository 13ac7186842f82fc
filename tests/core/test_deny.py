import pytest

from agent_core import limits
from agent_core.config import load as config_load
from agent_core.config.live import LiveTexts
from agent_core.config.paths import find_places
from agent_core.safety.deny import UNJUDGED, denied
from tests.rows import each_row


@each_row(
    ("command", "patterns", "found"),
    [
        ("git push origin main", ["git push*"], "git push*"),
        ("GIT   Push origin", ["git push*"], "git push*"),
        ("ls && git push", ["git push*"], "git push*"),
        ("env X=1 git push -f", ["git push*"], "git push*"),
        ("sudo bash -c 'git push'", ["git push*"], "git push*"),
        ("echo $(git push)", ["git push*"], "git push*"),
        ("/usr/bin/git push", ["git push*"], "git push*"),
        ("git status", ["git push*"], ""),
        ("echo git push", ["git push*"], ""),
        ("deploy --to PROD", ["*prod*"], "*prod*"),
        ("git -C x push", ["git push*"], "git push*"),
        ("git -c a.b=c --no-pager push -f", ["git push*"], "git push*"),
        ("git --git-dir=x push", ["git push*"], "git push*"),
        ("docker -H tcp://x run y", ["docker run*"], "docker run*"),
        ("kubectl --namespace live delete pod x", ["kubectl delete*"], "kubectl delete*"),
        ("timeout 5 nice git push", ["git push*"], "git push*"),
        ("xargs git push", ["git push*"], "git push*"),
        ("find . -exec git push ;", ["git push*"], "git push*"),
        ("G=git; $G push", ["git push*"], "git push*"),
        ("g'i't push", ["git push*"], "git push*"),
        ("if true; then git push; fi", ["git push*"], "git push*"),
        ("true &\ngit push", ["git push*"], "git push*"),
        ("cat ~/.netrc", ["*~/.netrc*"], "*~/.netrc*"),
        ("echo x > /etc/motd", ["*> /etc/*"], "*> /etc/*"),
        ("env curl example.org", ["CURL*"], "CURL*"),
        ("anything", [], ""),
        ("anything", ["", "  "], ""),
    ],
)
def test_a_pattern_fits_any_command_that_would_run(command, patterns, found):
    assert denied(command, patterns) == found


def test_what_cannot_be_compared_is_not_run_where_something_is_forbidden():
    padded = "true " + "x" * limits.SHELL_JUDGED + "; git push"
    assert denied(padded, ["git push*"]) == UNJUDGED
    assert denied(padded, []) == ""


# -- live ----------------------------------------------------------------------------------------------------------


def test_an_edit_of_the_config_acts_on_the_next_command(tmp_path):
    file = tmp_path / "home" / "config.yaml"
    file.parent.mkdir()
    places = find_places(tmp_path, {"HOME": str(tmp_path), "NANOHERMES_HOME": str(file.parent)})
    loads = []

    def load():
        loads.append(1)
        return config_load.load(places, {})

    deny = LiveTexts("approvals.deny", places.config_files, load)
    assert deny() == ()
    file.write_text("approvals:\n  deny: ['git push*']\n")
    assert deny() == ("git push*",)
    before = len(loads)
    assert deny() == ("git push*",)
    assert len(loads) == before
    file.write_text("approvals:\n  deny: ['git pull*']\n")
    assert deny() == ("git pull*",)
    file.unlink()
    assert deny() == ()


@pytest.mark.parametrize("broken", ["approvals: [", "approvals:\n  deny: {a: 1}\n", "approvals:\n  deny: 5\n", "\x00"])
def test_a_slip_of_the_pen_allows_nothing_that_was_forbidden(tmp_path, broken):
    file = tmp_path / "config.yaml"
    file.write_text("approvals:\n  deny: ['git push*']\n")
    places = find_places(tmp_path, {"HOME": str(tmp_path), "NANOHERMES_HOME": str(tmp_path)})
    deny = LiveTexts("approvals.deny", places.config_files, lambda: config_load.load(places, {}))
    assert deny() == ("git push*",)
    file.write_text(broken)
    assert deny() == ("git push*",)
    file.write_text("approvals:\n  deny: []\n")
    assert deny() == ()
