"""The frames of edge.runner/v1, as boot.py speaks them."""
from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time

import pytest
from conftest import BOOT, MODULES, ROOT, SECRET, Runner, frame

HELLO = {"protocol": "edge.runner/v1", "modules": MODULES}
TOOL = "@edge_tool\ndef f():\n    'd'\n    return 1\n"


def request(runner: Runner, **more: object) -> dict:
    return {"protocol": "edge.runner/v1", "secret": SECRET, "op": "inspect", "path": str(runner.path), "source_sha256": None} | more


def test_inspect_answers_with_what_was_read(runner: Runner) -> None:
    runner.write(TOOL)
    answer = runner.inspect()
    assert answer.status == 0 and answer.stderr == ""
    assert answer.json["op"] == "inspect" and answer.json["schema_generator_version"] == "1"
    assert answer.json["source_sha256"] == hashlib.sha256(runner.path.read_bytes()).hexdigest()
    assert answer.json["python"] == "%d.%d.%d" % sys.version_info[:3]
    assert set(answer.json) == {"protocol", "secret", "ok", "op", "source_sha256", "schema_generator_version", "python", "tools", "errors", "warnings"}


def test_call_has_these_members(runner: Runner) -> None:
    answer = runner.call("f", text=TOOL)
    assert set(answer.json) == {"protocol", "secret", "ok", "op", "result", "loaded_files", "sandbox"}
    assert set(runner.call("g").json) == {"protocol", "secret", "ok", "error", "loaded_files", "sandbox"}
    assert set(runner.call("f", source_sha256="0" * 64).json) == {"protocol", "secret", "ok", "error", "sandbox"}


@pytest.mark.parametrize("op", ["inspect", "call"])
def test_a_changed_file_is_refused_and_not_run(runner: Runner, op: str) -> None:
    runner.write("print('ran')\n" + TOOL)
    frozen = hashlib.sha256(b"other").hexdigest()
    answer = runner.inspect(source_sha256=frozen) if op == "inspect" else runner.call("f", source_sha256=frozen)
    assert answer.code == "tools_file_changed" and "ran" not in answer.stderr


def test_the_bytes_that_were_hashed_are_those_that_run(runner: Runner) -> None:
    runner.write("""
        import os
        source = open(__file__).read()
        open(__file__, "w").write(source.replace("return 1", "return 2"))

        @edge_tool
        def f():
            'd'
            return 1
        """)
    assert runner.call("f").result == {"result": 1}
    assert "return 2" in runner.path.read_text()


def test_a_file_replaced_between_reading_and_running_makes_no_difference(runner: Runner) -> None:
    runner.write("value = 1\n", head=False)
    done = subprocess.run([sys.executable, "-c", f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from edgestudio._loading import ToolsFile
file = ToolsFile({str(runner.path)!r})
open(file.path, "w").write("value = 2")
file.load()
print(file.namespace["value"], file.source_sha256)
"""], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", hashlib.sha256(b"value = 1\n").hexdigest()]


def test_nothing_after_the_request_reaches_the_tool(runner: Runner) -> None:
    runner.write("import os, sys\n@edge_tool\ndef f():\n    'd'\n    return [os.read(0, 100).decode(), sys.stdin.read()]\n")
    call = request(runner, op="call", function={"tool_name": "f"}, arguments={}, limits={"result_bytes": 100})
    answer = runner.send(HELLO, call, b"not for the tool")
    assert answer.result == {"result": ["", ""]}


@pytest.mark.parametrize("what", ["missing", "folder", "pipe", "null byte"])
def test_paths_that_are_no_file(runner: Runner, what: str) -> None:
    path = runner.path
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    shown = str(path) + ("\0" if what == "null byte" else "")
    assert runner.inspect(path=shown).code == "tools_file_not_found"


def test_a_huge_file_is_refused(runner: Runner) -> None:
    runner.path.write_bytes(b"#" * ((8 << 20) + 1))
    assert runner.inspect().code == "tools_file_import_failed"


def test_a_huge_description_of_all_tools_is_refused(runner: Runner) -> None:
    answer = runner.inspect("for n in range(140):\n    @edge_tool(name=f't{n}', description='x' * 65000)\n    def f():\n        pass\n")
    assert answer.code == "unsupported_schema"


def test_an_idle_runner_ends_quietly_when_its_caller_does(runner: Runner) -> None:
    for frames in ([], [HELLO]):
        answer = runner.send(*frames)
        assert (answer.status, answer.stdout, answer.stderr) == (0, b"", "")


def test_a_runner_started_ahead_answers_when_work_comes(runner: Runner) -> None:
    runner.write(TOOL)
    process = subprocess.Popen([sys.executable, "-I", "-S", "-B", "-c", BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=runner.cwd)
    process.stdin.write(frame(HELLO))
    process.stdin.flush()
    # Only a pause between the frames; whether the runner has used it to import things makes no difference to the answer.
    time.sleep(0.3)
    process.stdin.write(frame(request(runner)))
    out, _ = process.communicate(timeout=60)
    assert json.loads(out[4:])["tools"][0]["name"] == "f"


@pytest.mark.parametrize("data", [
    b"\0\0", b"\0\0\0\0", b"\xff\xff\xff\xff", (8 * 1024 * 1024 + 1).to_bytes(4, "big"), b"\0\0\0\x05{}", frame(b"{"), frame(b"\xff"), frame(b"{} {}"), frame(json.dumps(HELLO).encode() + b" {}"),
    frame(b'{"protocol": NaN}'), frame({"protocol": "edge.runner/v2", "modules": {}}), frame([1]), frame({"protocol": "edge.runner/v1"}),
], ids=range(13))
def test_bad_first_frames(data: bytes) -> None:
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", BOOT], input=data, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (4, b"") and b"edge: the runner failed" in done.stderr


def test_bad_requests_get_no_response_that_could_be_taken_for_one(runner: Runner) -> None:
    runner.write(TOOL)
    for bad in (request(runner, protocol="edge.runner/v2"), {"protocol": "edge.runner/v1"}, [], request(runner, path=5)):
        answer = runner.send(HELLO, bad)
        assert answer.status == 4 and answer.stdout == b""


def test_an_unknown_op(runner: Runner) -> None:
    runner.write(TOOL)
    assert runner.ask({"op": "exec"}).code == "runner_protocol_violation"


def test_frames_may_arrive_in_pieces(runner: Runner) -> None:
    runner.write(TOOL)
    process = subprocess.Popen([sys.executable, "-I", "-S", "-B", "-c", BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=runner.cwd, bufsize=0)
    data = frame(HELLO) + frame(request(runner))
    for start in list(range(0, 12)) + [12]:
        process.stdin.write(data[start:start + 1] if start < 12 else data[12:])
    out, _ = process.communicate(timeout=60)
    assert json.loads(out[4:])["ok"] is True


def test_a_pip_installed_edgestudio_is_never_used(runner: Runner) -> None:
    runner.write("raise RuntimeError('shadow')\n", name="edgestudio/__init__.py")
    runner.write("raise RuntimeError('shadow')\n", name="edgestudio/tools.py")
    runner.write("raise RuntimeError('shadow')\n", name="edgestudio/extra.py")
    runner.write(TOOL + "try:\n    import edgestudio.extra\nexcept ModuleNotFoundError:\n    pass\nelse:\n    raise SystemExit\n")
    assert runner.call("f").result == {"result": 1}


@pytest.mark.parametrize("version", ["(2, 7, 18, 'final', 0)", "(3, 9, 18, 'final', 0)"])
def test_a_wrong_python_is_named(version: str) -> None:
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys\nsys.version_info = {version}\nexec({BOOT!r})"], input=b"", capture_output=True, timeout=60)
    assert done.returncode == 3 and done.stdout == b"" and b"edge needs Python 3.10 or newer" in done.stderr and sys.executable.encode() in done.stderr


def test_boot_stays_small() -> None:
    # It travels in the arguments of every process.
    assert len(BOOT) < 8192


def test_no_slow_module_is_imported_for_a_plain_call(runner: Runner) -> None:
    runner.write("from edgestudio.tools import edge_tool\n@edge_tool\ndef f(a: int, b: list[str], c: 'int | None' = None):\n    'd'\n    import sys\n    return sorted(sys.modules)\n")
    runner.path.write_text(runner.path.read_text().replace("from typing import Annotated, Any, Literal, List, NewType, Optional, Union\n", ""))
    modules = runner.call("f", {"a": 1, "b": []}).result["result"]
    slow = {"typing", "inspect", "re", "json", "enum", "dataclasses", "collections", "functools", "asyncio", "traceback", "hashlib", "os", "site", "ast", "socket", "subprocess", "threading"}
    assert slow & set(modules) == set()


def test_every_module_compiles_without_optional_syntax() -> None:
    # The runner compiles the package in every process: a module that only a newer Python reads would break older ones.
    import ast
    for path in sorted((ROOT / "edgestudio").glob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
