import pytest

from agent_core.safety.deny import denied


@pytest.mark.parametrize(
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
        ("anything", [], ""),
        ("anything", ["", "  "], ""),
    ],
)
def test_a_pattern_fits_any_command_that_would_run(command, patterns, found):
    assert denied(command, patterns) == found
