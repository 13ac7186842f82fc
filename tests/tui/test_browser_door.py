"""Who may come in through a browser."""

from nanoherm_tui.browser import door as doors
from nanoherm_tui.browser.ground import begin, of_theme
from nanoherm_tui.terminal.colours import guess_light
from nanoherm_tui.theming.files import find_themes_dir, load_themes
from tests.rows import each_row


def door(address="127.0.0.1"):
    return doors.Door(address, doors.new_door(address, "machine").name, "token", "/path")


@each_row(
    ("address", "host", "known"),
    [
        ("127.0.0.1", "127.0.0.1:8000", True),
        ("127.0.0.1", "localhost:8000", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("127.0.0.1", "localhost:9000", True),  # through a tunnel
        ("127.0.0.1", "[::1]:8000", True),
        ("::1", "[::1]:8000", True),
        ("127.0.0.1", "evil.example:8000", False),  # a name that was pointed here
        ("127.0.0.1", "127.0.0.1.evil.example:8000", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "192.168.1.5:8000", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[", False),
        ("127.0.0.1", "0x7f.1", False),
        ("192.168.1.5", "192.168.1.5:8000", True),
        ("192.168.1.5", "192.168.1.6:8000", False),
        ("machine.lan", "machine.lan:8000", True),
        ("machine.lan", "machine.lan.evil.example:8000", False),
        ("0.0.0.0", "192.168.1.5:8000", True),  # whatever address of this machine that is
        ("0.0.0.0", "machine:8000", True),
        ("0.0.0.0", "evil.example:8000", False),
        ("127.0.0.1", "machine:8000", False),
        ("::", "[fe80::1]:8000", True),
        ("fd00::1", "[fd00::1]:8000", True),
        ("fd00::1", "[fd00::2]:8000", False),
    ],
)
def test_a_host_is_known_by_its_name_alone(address, host, known):
    assert doors.knows_host(door(address), host) is known


@each_row(
    ("origin", "host", "same"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("HTTP://LOCALHOST:8000", "localhost:8000", True),
        ("http://127.0.0.1:8001", "127.0.0.1:8000", False),  # another server of this machine
        ("http://localhost:8000", "127.0.0.1:8000", False),
        ("https://127.0.0.1:8000", "127.0.0.1:8000", False),
        ("http://evil.example", "127.0.0.1:8000", False),
        ("http://127.0.0.1:8000.evil.example", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("", "127.0.0.1:8000", False),
        ("http://", "", False),
    ],
)
def test_a_page_of_another_origin_is_told_apart(origin, host, same):
    assert doors.same_origin(origin, host) is same


@each_row("given", ["", "toke", "token ", "TOKEN", "tokentoken", "tök\udcff", "\0"])
def test_nothing_but_the_token_fits(given):
    assert doors.fits(door(), "token")
    assert not doors.fits(door(), given)


def test_no_two_servers_have_the_same_token_or_path():
    first, second = doors.new_door("::1", "machine"), doors.new_door("::1", "machine")
    assert first.token != second.token
    assert first.path != second.path
    assert len(first.token) >= 43  # 256 bits
    assert doors.in_address(first.address) == "[::1]"


@each_row(
    ("address", "loopback"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("machine.lan", False), ("", False),
    ],
)  # fmt: skip
def test_what_other_machines_reach_is_known(address, loopback):
    assert doors.is_loopback(address) is loopback


def test_the_page_goes_on_in_the_ground_of_the_theme():
    themes, _ = load_themes(find_themes_dir())
    light, dark = {"COLORFGBG": "0;15"}, {"COLORFGBG": "15;0"}
    assert guess_light(light)
    assert guess_light(dark) is False
    assert of_theme(themes["nanoherm-dark"], light) == "\x1b]11;#14161b\x07"
    assert of_theme(themes["ansi"], light) == "\x1b]11;#ffffff\x07"
    assert of_theme(themes["ansi"], dark) == "\x1b]11;#000000\x07"
    assert begin("light") == "\x1b]10;#000000\x07\x1b]11;#ffffff\x07"
