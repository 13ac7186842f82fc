"""Every test that asks for `terminal` runs in a bare pty, and with the long ones inside tmux too."""

import pytest

from tests.e2e.screen import Screen, home_env
from tests.e2e.tmux import HAS_TMUX, Tmux

KINDS = {"bare": Screen, "tmux": Tmux}


PARAMS = ["bare", pytest.param("tmux", marks=pytest.mark.long)]


def kind_of(request):
    if request.param == "tmux" and not HAS_TMUX:
        pytest.skip("tmux is not installed")
    return KINDS[request.param]


@pytest.fixture(params=PARAMS)
def terminal(request):
    """The class to start the program with: Screen or Tmux."""
    return kind_of(request)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def server_env(home):
    """`server_env(server)`: the environment of a program that uses it."""

    def env(server, **more):
        return home_env(home, **{"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "test-model", **more})

    return env
