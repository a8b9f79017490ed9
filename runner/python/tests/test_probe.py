from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest
from conftest import Runner
from edgestudio import _probe

TOOL = "@edge_tool\ndef f():\n    'd'\n    return 1\n"
KEYS = {"write_outside", "tcp", "udp", "unix", "start_process", "seccomp_mode", "no_new_privs"}


def test_without_a_probe_nothing_is_claimed(runner: Runner) -> None:
    assert runner.call("f", text=TOOL).json["sandbox"] == {}
    assert "sandbox" not in runner.inspect().json


@pytest.mark.parametrize("op", ["inspect", "call"])
def test_an_open_process_says_so(runner: Runner, tmp_path: Path, op: str) -> None:
    path = tmp_path / "probe"
    runner.write(TOOL)
    more = {"probe": True, "probe_path": str(path)}
    answer = runner.inspect(**more) if op == "inspect" else runner.call("f", **more)
    block = answer.json["sandbox"]
    assert set(block) == KEYS and block["write_outside"] == block["unix"] == block["start_process"] == block["udp"] == "allowed"
    assert not path.exists()
    if sys.platform == "linux":
        status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
        assert block["seccomp_mode"] == int(status["Seccomp"]) and block["no_new_privs"] is (status["NoNewPrivs"] == "1")


def test_the_probe_runs_before_the_users_file_and_in_failures_too(runner: Runner, tmp_path: Path) -> None:
    runner.write("import os\nos.fork = None\nraise RuntimeError\n")
    answer = runner.call("f", probe=True, probe_path=str(tmp_path / "probe"))
    assert answer.code == "tools_file_import_failed" and set(answer.json["sandbox"]) == KEYS


def test_what_can_not_be_tried_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    assert _probe.write_outside(str(tmp_path / "no folder" / "file")) == "unknown"
    assert _probe.write_outside(str(tmp_path / "there")) == "unknown" and (tmp_path / "there").read_text() == "kept"
    assert _probe.run(None)["write_outside"] == "unknown"


def fails_with(number: int) -> object:
    def fail(*a: object, **k: object) -> None:
        raise OSError(number, "no")
    return fail


@pytest.mark.parametrize(("number", "want"), [(errno.EPERM, "denied"), (errno.EACCES, "denied"), (errno.EROFS, "denied"), (errno.ENOSPC, "unknown"), (errno.EMFILE, "unknown")])
def test_what_an_error_means(monkeypatch: pytest.MonkeyPatch, number: int, want: str) -> None:
    monkeypatch.setattr(_probe.system, "open", fails_with(number))
    monkeypatch.setattr(_probe.system, "fork", fails_with(number))
    assert _probe.write_outside("/x") == want and _probe.start_process() == want
    assert _probe.kernel_says() == ("unknown", "unknown")


class Sockets:
    """Sockets whose creation and connection fail as told, per family."""

    AF_INET, AF_INET6, SOCK_STREAM, SOCK_DGRAM = 2, 10, 1, 2

    def __init__(self, make: dict, connect: dict) -> None:
        self.make, self.connect_errors, self.closed = make, connect, 0

    def socket(self, family: int, kind: int) -> "Sockets.End":
        if self.make.get(family):
            raise OSError(self.make[family], "no")
        return Sockets.End(self, family)

    class End:
        def __init__(self, owner: "Sockets", family: int) -> None:
            self.owner, self.family = owner, family

        def setblocking(self, flag: bool) -> None:
            assert flag is False

        def connect(self, address: tuple) -> None:
            if self.owner.connect_errors.get(self.family):
                raise OSError(self.owner.connect_errors[self.family], "no")

        def close(self) -> None:
            self.owner.closed += 1


@pytest.mark.parametrize(("make", "connect", "want"), [
    ({}, {}, "allowed"),
    ({}, {2: errno.ECONNREFUSED, 10: errno.ECONNREFUSED}, "allowed"),
    ({}, {2: errno.EINPROGRESS, 10: errno.ENETUNREACH}, "allowed"),
    ({}, {2: errno.EACCES, 10: errno.EACCES}, "denied"),
    ({2: errno.EPERM, 10: errno.EPERM}, {}, "denied"),
    ({2: errno.EACCES, 10: errno.EAFNOSUPPORT}, {}, "denied"),
    ({2: errno.EPERM}, {}, "allowed"),
    ({10: errno.EAFNOSUPPORT}, {2: errno.EACCES}, "denied"),
    ({2: errno.EMFILE, 10: errno.EMFILE}, {}, "unknown"),
])
def test_either_family_counts(make: dict, connect: dict, want: str) -> None:
    sockets = Sockets(make, connect)
    assert _probe.internet(sockets, sockets.SOCK_STREAM) == want
    assert sockets.closed == 2 - len(make)
