from __future__ import annotations

import pytest
from conftest import Runner

CASES = {
    "an error at the top level": ("x = 1\nraise RuntimeError('top level')\n", "RuntimeError: top level", 2),
    "an error in a function": ("def g():\n    return 1 / 0\n\ng()\n", "ZeroDivisionError: division by zero", 2),
    "no such module": ("import no_such_module_xyz\n", "ModuleNotFoundError: No module named 'no_such_module_xyz'", 1),
    "a syntax error": ("x = 1\ndef broken(:\n", "SyntaxError: ", 2),
    "an indentation error": ("def f():\nreturn 1\n", "IndentationError: ", 2),
    "sys.exit": ("import sys\nsys.exit(3)\n", "SystemExit: 3", 2),
    "exit()": ("raise SystemExit\n", "SystemExit", 1),
    "an interrupt": ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 1),
    "endless recursion": ("def g():\n    g()\ng()\n", "RecursionError: ", 2),
    "a base exception": ("class E(BaseException): pass\nraise E('x')\n", "E: x", 2),
    "an exception that can't be shown": ("class E(Exception):\n    def __str__(self): raise self\nraise E\n", "E", 3),
    "a lone surrogate in the message": ("raise ValueError('\\ud800')\n", "ValueError: \\ud800", 1),
    "a huge message": ("raise ValueError('x' * 1000000)\n", "ValueError: xxxx", 1),
    "an assertion": ("assert False, 'no'\n", "AssertionError: no", 1),
    "input": ("input()\n", "EOFError: ", 1),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_failure_and_its_line(runner: Runner, case: str) -> None:
    text, message, line = CASES[case]
    runner.path.write_text(text)
    answer = runner.inspect()
    (error,) = answer.errors
    assert (error["code"], error["tool"], error["parameter"], error["line"]) == ("tools_file_import_failed", None, None, line)
    assert error["message"].startswith(message) and len(error["message"]) < 800
    assert answer.json["tools"] == [] and answer.stderr != ""


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"# coding: nonsense\n", b"x = '\xff'\n", b"x = 1\0\n", b"(" * 5000, b"x = " + b"-" * 100000 + b"1\n"], ids=range(6))
def test_bytes_that_are_no_python(runner: Runner, data: bytes) -> None:
    runner.path.write_bytes(data)
    answer = runner.inspect()
    assert answer.codes == ["tools_file_import_failed"]


@pytest.mark.parametrize("data", [
    "﻿from edgestudio.tools import edge_tool\n@edge_tool\ndef f():\n    'é'\n".encode(),
    "# -*- coding: latin-1 -*-\nfrom edgestudio.tools import edge_tool\n@edge_tool\ndef f():\n    'é'\n".encode("latin-1"),
    b"from edgestudio.tools import edge_tool\r\n@edge_tool\r\ndef f():\r\n    '\xc3\xa9'\r\n",
], ids=["bom", "latin-1", "crlf"])
def test_encodings(runner: Runner, data: bytes) -> None:
    runner.path.write_bytes(data)
    tool = runner.inspect().tools["f"]
    assert tool["description"] == "é" and tool["line"] in (3, 4)


def test_a_failing_sibling_is_named(runner: Runner) -> None:
    runner.write("\n\nraise RuntimeError('inside')\n", name="helper.py")
    runner.path.write_text("x = 1\nimport helper\n")
    (error,) = runner.inspect().errors
    assert error["line"] == 2 and "RuntimeError: inside (in helper.py, line 3)" in error["message"]
    runner.write("def broken(:\n", name="helper.py")
    (error,) = runner.inspect().errors
    assert error["line"] == 2 and "(in helper.py, line 1)" in error["message"]


def test_the_interpreter_is_named_where_it_matters(runner: Runner) -> None:
    for text in ("import no_such_module_xyz\n", "def broken(:\n"):
        runner.path.write_text(text)
        assert f"at {runner.python})" in runner.inspect().errors[0]["message"]


def test_problems_before_the_failure_are_reported_too(runner: Runner) -> None:
    answer = runner.inspect("edge_tool(5)\n@edge_tool\nclass A: pass\nraise RuntimeError('late')\n")
    assert answer.codes == ["tools_file_import_failed", "unsupported_function", "unsupported_function"]


def test_no_tools(runner: Runner) -> None:
    assert runner.inspect("x = 1\n").codes == ["no_tools_found"]
    runner.path.write_bytes(b"")
    assert runner.inspect().codes == ["no_tools_found"]


def test_a_failure_at_call_time_gives_the_type_only(runner: Runner) -> None:
    answer = runner.call("f", text="@edge_tool\ndef f():\n    'd'\n\nraise ValueError('secret-4711')\n")
    assert answer.code == "tools_file_import_failed"
    assert answer.json["error"]["message"] == "ValueError" and answer.json["error"]["line"] == len(runner.path.read_text().splitlines())
    assert "secret-4711" in answer.stderr and b"secret-4711" not in answer.stdout
