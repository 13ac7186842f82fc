"""What is found out about this machine, with kernels of every age."""

import errno
import os
import subprocess
import sys

import pytest

from agent_core.errors import SandboxError
from agent_core.sandbox import launch, probe
from agent_core.sandbox.plan import Kernel, plan
from agent_core.sandbox.policy import SandboxPolicy


@pytest.fixture
def kernel(monkeypatch):
    """Pretend that the kernel answers so."""

    def pretend(abi=7, seccomp=True, view="root", arch="x86_64"):
        def version():
            if isinstance(abi, int):
                return abi
            raise OSError(getattr(errno, abi), os.strerror(getattr(errno, abi)))

        monkeypatch.setattr(probe, "landlock_version", version)
        monkeypatch.setattr(probe, "_has_seccomp", lambda machine: seccomp and arch in probe.bpf.MACHINES)
        monkeypatch.setattr(probe, "_find_view", lambda abi, machine: (view, "" if view else "unshare: EPERM"))
        monkeypatch.setattr(probe, "_known", {})
        real = os.uname()
        fake = os.uname_result((real.sysname, real.nodename, real.release, real.version, arch))
        monkeypatch.setattr(os, "uname", lambda: fake)
        return probe.layers()

    return pretend


@pytest.mark.parametrize("abi", [3, 4, 5, 6, 7, 8, 99])
def test_landlock_from_version_three_on_confines(kernel, abi):
    found = kernel(abi)
    assert found.can_confine
    assert found.landlock_abi == abi
    assert "landlock" not in found.missing
    assert ("signals" in found.missing) == (abi < 6)


@pytest.mark.parametrize("abi", [0, 1, 2])
def test_landlock_that_cannot_judge_truncation_does_not(kernel, abi, tmp_path):
    found = kernel(abi)
    assert not found.can_confine
    assert "landlock" in found.missing
    with pytest.raises(SandboxError, match=f"ABI {abi}, 3 is needed") as caught:
        launch.prepare(["true"], tmp_path, SandboxPolicy((), tmp_path))
    assert caught.value.code == "sandbox_landlock"


@pytest.mark.parametrize("name", ["ENOSYS", "EOPNOTSUPP", "EPERM"])
def test_a_kernel_without_landlock_says_which_call_failed_with_what(kernel, name, tmp_path):
    found = kernel(name)
    assert not found.can_confine
    assert found.landlock_error == f"landlock_create_ruleset: {name}"
    assert not found.mount_view  # not even tried: nothing could run in it
    with pytest.raises(SandboxError, match=name):
        launch.prepare(["true"], tmp_path, SandboxPolicy((), tmp_path))


def test_another_system_is_asked_nothing_and_said_plainly(monkeypatch, tmp_path):
    real = os.uname()
    monkeypatch.setattr(probe.sys, "platform", "darwin")
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Darwin", *real[1:4], "arm64")))
    monkeypatch.setattr(probe, "_known", {})
    monkeypatch.setattr(probe, "_create_ruleset", lambda flag: pytest.fail("the number is another call there"))
    monkeypatch.setattr(probe, "_has_seccomp", lambda machine: pytest.fail("so is this one"))
    assert probe.layers().why == "only Linux has Landlock, and this is Darwin"
    assert not probe.layers().can_confine
    with pytest.raises(SandboxError, match="this is Darwin"):
        launch.prepare(["true"], tmp_path, SandboxPolicy((), tmp_path))


def test_the_rooms_can_be_imported_where_memory_cannot_be_sealed():
    lacking = """
import fcntl, os
for room in (fcntl, os):
    for name in dir(room):
        if "SEAL" in name or name.startswith(("MFD", "memfd", "pidfd")):
            delattr(room, name)
"""
    rooms = "import agent_core.sandbox.launch, agent_core.sandbox.probe, agent_core.confinement\n"
    rooms += "import agent_core.process.command\n"
    subprocess.run([sys.executable, "-c", lacking + rooms], check=True)


def test_a_kernel_without_filters_does_not_confine(kernel, tmp_path):
    found = kernel(seccomp=False)
    assert not found.can_confine
    assert found.missing[0] == "seccomp"
    with pytest.raises(SandboxError) as caught:
        launch.prepare(["true"], tmp_path, SandboxPolicy((), tmp_path))
    assert caught.value.code == "sandbox_seccomp"


def test_a_processor_without_a_table_is_named(kernel, tmp_path):
    found = kernel(arch="riscv64")
    assert (found.arch, found.can_confine) == ("riscv64", False)
    with pytest.raises(SandboxError, match="riscv64"):
        launch.prepare(["true"], tmp_path, SandboxPolicy((), tmp_path))


def test_without_a_mount_view_commands_are_confined_and_the_lack_is_told(kernel):
    found = kernel(view="")
    assert found.can_confine
    assert "mount view" in found.missing
    assert found.view_error == "unshare: EPERM"


def test_what_was_found_is_kept_for_each_user(kernel, monkeypatch):
    first = kernel(7)
    monkeypatch.setattr(probe, "landlock_version", lambda: 3)
    assert probe.layers() is first
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert probe.layers().landlock_abi == 3


@pytest.mark.parametrize(
    ("abi", "fields"),
    [(3, 1), (4, 2), (5, 2), (6, 3), (7, 3), (99, 3)],
)
def test_an_older_kernel_is_given_the_structure_that_it_knows(abi, fields, tmp_path):
    made, _ = plan(["true"], tmp_path, SandboxPolicy((), tmp_path), Kernel(abi, "", "x86_64"))
    assert len(made["landlock"]["handled"]) == fields
    assert bool(made["landlock"]["flags"]) == (abi >= 7)
    known = made["landlock"]["handled"][0]
    assert all(not allowed & ~known for _, allowed in made["landlock"]["rules"])


@pytest.mark.parametrize(
    ("view", "writable", "kept"),
    [("", False, True), ("", True, False), ("root", False, False), ("user", True, False)],
)
def test_metadata_is_kept_by_the_filter_only_where_nothing_is_writable_and_no_view_is(view, writable, kept, tmp_path):
    policy = SandboxPolicy((tmp_path,) if writable else (), tmp_path)
    made, held = plan(["true"], tmp_path, policy, Kernel(7, view, "x86_64"))
    assert not held
    strict = probe.bpf.assemble("x86_64", network=False, metadata=False)
    assert (made["filter"] == strict) == kept
