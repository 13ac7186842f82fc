"""Landlock as data: what each kernel can judge, and what is allowed where."""

import os
from pathlib import Path

import pytest

from agent_core.sandbox import landlock
from agent_core.sandbox.landlock import READ_DIR, READ_FILE, WRITE_FILE
from agent_core.sandbox.policy import SandboxPolicy
from tests.rows import each_row

DEVICE_NODES = landlock.MAKE_CHAR | landlock.MAKE_BLOCK


@each_row(
    ("abi", "files", "tcp", "scopes", "flags"),
    [
        (1, 0x1FFF, 0, 0, 0),
        (2, 0x3FFF, 0, 0, 0),
        (3, 0x7FFF, 0, 0, 0),
        (4, 0x7FFF, 3, 0, 0),
        (5, 0xFFFF, 3, 0, 0),
        (6, 0xFFFF, 3, 3, 0),
        (7, 0xFFFF, 3, 3, 4),
        (8, 0xFFFF, 3, 3, 4),
        (99, 0xFFFF, 3, 3, 4),
    ],
)
def test_rights_are_those_the_kernel_s_version_knows(abi, files, tcp, scopes, flags):
    assert landlock.rights(abi, network=False) == landlock.Rights(files, tcp, scopes, flags)


@pytest.mark.parametrize("abi", [4, 7, 99])
def test_with_the_network_tcp_is_not_judged_but_scopes_stay(abi):
    with_network = landlock.rights(abi, network=True)
    assert with_network.tcp == 0
    assert with_network.scopes == landlock.rights(abi, network=False).scopes


@pytest.mark.parametrize("abi", [1, 3, 7])
def test_a_program_that_only_looks_is_judged_where_it_writes_and_not_where_it_opens(abi):
    judged = landlock.rights(abi, network=False, opens=False).files
    assert judged & WRITE_FILE
    assert judged & landlock.MAKE_REG
    assert not judged & (READ_FILE | READ_DIR | landlock.TRUNCATE | landlock.IOCTL_DEV)


@pytest.fixture
def tree(tmp_path):
    for name in ("a/b/c", "a/b/d", "a/e", "f"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("")
    return tmp_path


def below(places, tree):
    return sorted(str(place.relative_to(tree)) for place in places if place.is_relative_to(tree) and place != tree)


@pytest.mark.parametrize(
    ("hidden", "wanted"),
    [
        (["f"], ["a"]),
        (["a/b/c"], ["a/b/d", "a/b/file", "a/e", "f"]),
        (["a/b/c", "a/b/file"], ["a/b/d", "a/e", "f"]),
        (["a/b", "a/b/c"], ["a/e", "f"]),
        (["a", "f"], []),
        (["g"], ["a", "f"]),
        (["a/b/file/x"], ["a/b/c", "a/b/d", "a/e", "f"]),
    ],
)
def test_everything_beside_the_hidden_places_is_named(tree, hidden, wanted):
    assert below(landlock.beside(tree / name for name in hidden), tree) == wanted


def test_nothing_hidden_is_the_whole_file_system():
    assert landlock.beside([]) == (Path("/"),)


def rules(policy, abi=7, mount_view=True):
    return landlock.rules(policy, landlock.rights(abi, network=False).files, mount_view=mount_view)


def rights_at(found, place):
    """What the rules together allow at a place: a rule holds for all below it."""
    return next(iter([sum_bits(bits for path, bits in found if Path(path) == place or Path(path) in place.parents)]), 0)


def sum_bits(parts):
    whole = 0
    for part in parts:
        whole |= part
    return whole


def policy(tree, **changes):
    return SandboxPolicy(**{"writable": (tree / "a",), "tmp": tree / "f", **changes})


@pytest.mark.parametrize("abi", [3, 4, 5, 6, 7])
def test_writing_is_allowed_below_the_writable_folders_alone(tree, abi):
    found = rules(policy(tree), abi)
    assert rights_at(found, tree / "a/b") & WRITE_FILE
    assert rights_at(found, tree / "f/x") & WRITE_FILE
    for outside in (tree / "g", Path("/etc/passwd"), Path("/proc/self/mem"), Path("/sys/power/state"), Path("/")):
        assert rights_at(found, outside) & ~(READ_FILE | READ_DIR | landlock.EXECUTE) == 0, outside


@pytest.mark.parametrize("mount_view", [True, False])
@pytest.mark.parametrize("root", ["/", "/tmp"])
def test_no_rule_lets_a_device_be_made_or_a_disk_be_read(tree, root, mount_view):
    found = rules(policy(tree, writable=(Path(root),)), mount_view=mount_view)
    assert all(not bits & DEVICE_NODES for _, bits in found)
    for device in ("/dev/sda", "/dev/vda", "/dev/mem", "/dev/kmsg", "/dev/kvm"):
        assert rights_at(found, Path(device)) & ~READ_DIR == 0


def test_a_writable_root_of_everything_leaves_out_the_kernel_s_own_files(tree):
    found = rules(policy(tree, writable=(Path("/"),)))
    assert rights_at(found, Path("/home/x")) & WRITE_FILE
    for place in ("/proc/sys/kernel/core_pattern", "/sys/fs/cgroup/x"):
        assert not rights_at(found, Path(place)) & WRITE_FILE


@pytest.mark.parametrize("device", ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/3"])
def test_the_harmless_devices_can_be_used(tree, device):
    assert rights_at(rules(policy(tree)), Path("/dev") / device) & (READ_FILE | WRITE_FILE) == READ_FILE | WRITE_FILE


def test_without_a_mount_view_hidden_places_outside_are_kept_by_their_siblings(tree):
    hidden = (tree / "h/keys", tree / "a/secret")
    (tree / "h/keys").mkdir(parents=True)
    (tree / "h/open").mkdir()
    found = rules(policy(tree, hidden=hidden), mount_view=False)
    assert not rights_at(found, tree / "h/keys/id") & READ_FILE
    assert rights_at(found, tree / "h/open/x") & READ_FILE
    assert rights_at(found, Path("/usr/bin/env")) & READ_FILE
    # In a writable folder it cannot be: what is created there could not be read again.
    assert rights_at(found, tree / "a/secret") & READ_FILE
    covered = rules(policy(tree, hidden=hidden), mount_view=True)
    assert rights_at(covered, tree / "h/keys/id") & READ_FILE  # the view covers it


def test_a_read_only_box_can_write_its_private_folder_alone(tree):
    found = rules(policy(tree, writable=()))
    assert not rights_at(found, tree / "a/b") & WRITE_FILE
    assert rights_at(found, tree / "f/x") & WRITE_FILE


def test_a_folder_that_cannot_be_listed_stays_shut(tree):
    if os.geteuid() == 0:
        pytest.skip("the superuser can list every folder")
    (tree / "a").chmod(0)
    try:
        assert below(landlock.beside([tree / "a/b"]), tree) == ["f"]
    finally:
        (tree / "a").chmod(0o700)
