"""op "call": arguments in, one function, a checked result out; whatever the function does to its process."""
from __future__ import annotations

import hashlib
import json
import os
import sys

import pytest
from conftest import Runner
from edgestudio._calling import encode
from edgestudio._loading import Failure


def tool(body: str, signature: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"@edge_tool\ndef f({signature}):\n    'd'\n{lines}"


RESULTS = [
    ("'x'", {"result": "x"}), ("3", {"result": 3}), ("None", {"result": None}), ("[1, 2]", {"result": [1, 2]}), ("True", {"result": True}), ("0.5", {"result": 0.5}),
    ("[]", {"result": []}), ("{}", {}), ("{'a': {'b': 1}}", {"a": {"b": 1}}), ("'日本 ✓ \\U0001f600'", {"result": "日本 ✓ \U0001f600"}),
    ("{'': 1, '\\n\\\"': 2}", {"": 1, '\n"': 2}), ("2 ** 53 - 1", {"result": 2**53 - 1}), ("-(2 ** 53 - 1)", {"result": 1 - 2**53}), ("1e300", {"result": 1e300}), ("1e-320", {"result": 1e-320}),
    ("{'result': 1}", {"result": 1}), ("{'a': 'x' * (65536 - 8)}", {"a": "x" * 65528}), ("'x' * (65536 - 13)", {"result": "x" * 65523}),
    ("__import__('collections').OrderedDict(a=1)", {"a": 1}), ("__import__('collections').defaultdict(int, a=1)", {"a": 1}), ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}),
    ("[[{'a': [None]}]]", {"result": [[{"a": [None]}]]}), ("(lambda x: {'a': x, 'b': x})([1])", {"a": [1], "b": [1]}),
]


@pytest.mark.parametrize(("value", "want"), RESULTS, ids=[result[0][:40] for result in RESULTS])
def test_results(value: str, want: object) -> None:
    assert json.dumps(json.loads(encode(evaluate(value), 65536)), sort_keys=True) == json.dumps(want, sort_keys=True)


def evaluate(value: str) -> object:
    names = {"f": evaluate, "__name__": "tools"}
    exec(KINDS, names)
    return eval(value, names)


def failure(value: object) -> Failure:
    with pytest.raises(Failure) as caught:
        encode(value, 65536)
    return caught.value


def test_a_result_all_the_way(runner: Runner) -> None:
    want = {"a": [1, 0.5, None, True, {"日本 ✓": "x" * 60000}], "": {}}
    assert runner.call("f", text=tool(f"return {want!r}")).result == want
    for value, code in (("{'a': {1}}", "unsupported_tool_result"), ("{'a': 'x' * 65529}", "tool_result_oversized")):
        answer = runner.call("f", text=tool(f"return {value}"))
        assert answer.code == code and answer.status == 0


UNSUPPORTED = [
    ("{1, 2}", "set"), ("b'x'", "bytes"), ("(1, 2)", "tuple"), ("{'a': object()}", "object"), ("{'a': (1,)}", "tuple"), ("float('nan')", "NaN"), ("[float('inf')]", "infinity"),
    ("{'a': -float('inf')}", "infinity"), ("2 ** 53", "2^53"), ("-(2 ** 53)", "2^53"), ("10 ** 5000", "2^53"), ("1e20", "2^53"), ("2.0 ** 53", "2^53"), ("{1: 'a'}", "key"), ("{None: 1}", "key"), ("{True: 1}", "key"),
    ("{'a': {('b',): 1}}", "key"), ("'\\ud800'", "surrogate"), ("{'\\udfff': 1}", "surrogate"), ("['a\\ud83d']", "surrogate"), ("complex(1)", "complex"), ("range(3)", "range"), ("len", "builtin"),
    ("f", "function"), ("ValueError('x')", "ValueError"), ("(x for x in [])", "generator"), ("Text('x')", "Text"), ("One.ONE", "One"), ("Word.A", "Word"), ("Map(a=1)", "Map"), ("Items([1])", "Items"), ("{Text('k'): 1}", "key"),
    ("__import__('decimal').Decimal(1)", "Decimal"), ("__import__('datetime').date(2020, 1, 1)", "date"), ("loop([])", "contains itself"), ("loop({})", "contains itself"), ("nest(64)", "deeper than 64"), ("nest(100000)", "deeper than 64"),
    ("memoryview(b'')", "memoryview"), ("print", "builtin"), ("__import__('os')", "module"), ("type", "type"), ("...", "ellipsis"), ("NotImplemented", "NotImplemented"),
]
KINDS = """
import enum
class Text(str): pass
class Items(list): pass
class Map(dict): pass
class One(enum.IntEnum):
    ONE = 1
class Word(str, enum.Enum):
    A = "a"
def loop(x):
    x.append(x) if isinstance(x, list) else x.update(self=x)
    return x
def nest(depth):
    x = 1
    for _ in range(depth):
        x = [x]
    return x
"""


@pytest.mark.parametrize(("value", "words"), UNSUPPORTED, ids=[case[0] for case in UNSUPPORTED])
def test_unsupported_results(value: str, words: str) -> None:
    refused = failure(evaluate(value))
    assert refused.code == "unsupported_tool_result" and words in refused.message


def test_depth_64_is_fine(runner: Runner) -> None:
    got = runner.call("f", text=KINDS + tool("return nest(63)")).result["result"]
    for _ in range(63):
        (got,) = got
    assert got == 1


@pytest.mark.parametrize("value", [
    "'x' * 65524", "{'a': 'x' * 65529}", "'x' * 70000", "'é' * 32769", "'\\x01' * 11000", "'\\\"' * 33000", "list(range(20000))", "[0.0] * 40000",
    "{str(n): n for n in range(200000)}", "[[]] * 50000", "'x' * (1 << 28)", "(lambda f: f(f, 40))(lambda f, n: [f(f, n - 1)] * 2 if n else 1)",
], ids=str)
def test_oversized_results(value: str) -> None:
    assert failure(evaluate(value)).code == "tool_result_oversized"


def test_where_an_unsupported_value_stands_goes_to_stderr_only(runner: Runner) -> None:
    answer = runner.call("f", text=tool("return {'alice@example': [1, {'b': {2}}]}"))
    assert answer.code == "unsupported_tool_result" and "result['alice@example'][1]['b']" in answer.stderr and b"alice" not in answer.stdout


# arguments

def test_arguments_have_the_annotated_types(runner: Runner) -> None:
    runner.write(tool("return repr([a, b, c, d, e, g])",
                      "a: float, b: list[float], c: Optional[float], d: Literal[0.5, 2.0], e: int, g: list[Optional[float]]"))
    assert runner.call("f", {"a": 250, "b": [1, 2.5], "c": 3, "d": 2, "e": 4, "g": [None, 5]}).result == {"result": "[250.0, [1.0, 2.5], 3.0, 2.0, 4, [None, 5.0]]"}
    assert runner.call("f", {"a": 0, "b": [], "c": None, "d": 0.5, "e": 0, "g": []}).result == {"result": "[0.0, [], None, 0.5, 0, []]"}


def test_positional_only_and_keyword_only(runner: Runner) -> None:
    runner.write(tool("return [a, b, c, d]", "a: int = 1, b: int = 2, /, c: int = 3, *, d: int = 4"))
    for arguments, want in [({}, [1, 2, 3, 4]), ({"b": 9}, [1, 9, 3, 4]), ({"a": 9}, [9, 2, 3, 4]), ({"d": 9, "c": 8}, [1, 2, 8, 9]), ({"a": 5, "b": 6, "c": 7, "d": 8}, [5, 6, 7, 8])]:
        assert runner.call("f", arguments).result == {"result": want}


@pytest.mark.parametrize("signature", ["a: int", "a: int, /", "*, a: int"])
@pytest.mark.parametrize("arguments", [
    {"a": "3"}, {"a": 3.5}, {"a": 3.0}, {"a": True}, {"a": None}, {}, {"a": 1, "zz": 2}, {"a": [1]}, {"a": {}}, {"a": 9007199254740992}, {"A": 1},
], ids=str)
def test_arguments_that_break_the_schema(runner: Runner, signature: str, arguments: dict) -> None:
    answer = runner.call("f", arguments, text="print('loaded')\n" + tool("print('ran')", signature))
    assert answer.code == "invalid_tool_args" and "ran" not in answer.stderr


@pytest.mark.parametrize(("annotation", "value"), [
    ("str", 1), ("str", None), ("float", "1"), ("float", True), ("float", 10**400), ("bool", 1), ("bool", "true"), ("Literal['a']", "b"), ("Literal['a']", None), ("Literal[1]", True), ("Literal[True]", 1),
    ("list[int]", 1), ("list[int]", {}), ("list[int]", "[1]"), ("list[int]", [1, "2"]), ("list[int]", [None]), ("list[list[int]]", [[1], 2]), ("Optional[int]", "x"), ("Optional[Literal['a']]", "b"), ("list[Literal['a']]", ["a", "b"]),
], ids=str)
def test_values_that_break_the_schema(runner: Runner, annotation: str, value: object) -> None:
    answer = runner.call("f", {"value": value}, text=tool("return 1", f"value: {annotation}"))
    assert answer.code == "invalid_tool_args" and "'value'" in answer.json["error"]["message"]


def test_unknown_tools_and_tools_that_are_not_right(runner: Runner) -> None:
    runner.write(tool("return 1") + "\n@edge_tool\ndef g(a: dict):\n    'd'\n\n@edge_tool(name='h')\ndef h1():\n    'd'\n\n@edge_tool(name='h')\ndef h2():\n    'd'\n")
    assert [runner.call(name, {}).code for name in ("F", "", "f ", "g", "h")] == ["unknown_tool", "unknown_tool", "unknown_tool", "unsupported_type_hint", "duplicate_tool_name"]
    assert runner.call("f", {}).result == {"result": 1}


# failures

RAISES = [
    ("raise ValueError('secret-4711')", "ValueError"), ("raise SystemExit('secret-4711')", "SystemExit"), ("raise KeyboardInterrupt('secret-4711')", "KeyboardInterrupt"),
    ("raise type('Own', (Exception,), {})('secret-4711')", "Own"), ("raise type('Own', (BaseException,), {})('secret-4711')", "Own"), ("raise GeneratorExit('secret-4711')", "GeneratorExit"),
    ("raise StopIteration('secret-4711')", "StopIteration"), ("open('secret-4711')", "FileNotFoundError"), ("{}['secret-4711']", "KeyError"), ("int('secret-4711')", "ValueError"),
]


@pytest.mark.parametrize(("body", "name"), RAISES, ids=[case[0] for case in RAISES])
def test_exceptions_give_their_type_only(runner: Runner, body: str, name: str) -> None:
    answer = runner.call("f", text=tool("x = 1\n" + body))
    assert answer.code == "tool_raised" and answer.status == 0
    error = answer.json["error"]
    assert error["message"] == name and error["line"] == len(runner.path.read_text().splitlines())
    assert b"secret-4711" not in answer.stdout and "secret-4711" in answer.stderr
    assert error["traceback_sha256"] == hashlib.sha256(answer.stderr.encode()).hexdigest()
    assert "<edge>" not in answer.stderr and answer.stderr.startswith("Traceback")


@pytest.mark.parametrize(("body", "name"), [
    ("f()", "RecursionError"), ("return 'x' * (1 << 33)", "MemoryError"), ("x = []\nwhile True: x.append(bytes(1 << 20))", "MemoryError"),
    ("return input()", "EOFError"), ("import sys\nreturn sys.stdin.readline() or 1 / 0", "ZeroDivisionError"), ("import os\nreturn os.read(0, 1).decode() or 1 / 0", "ZeroDivisionError"),
    ("raise Unprintable", "Unprintable"), ("raise ExceptionGroup('g', [ValueError('x')]) if hasattr(__builtins__, 'ExceptionGroup') else ValueError", None),
    ("assert False", "AssertionError"), ("raise None", "TypeError"), ("raise Exception from Exception", "Exception"), ("return undefined", "NameError"),
], ids=str)
def test_other_failures(runner: Runner, body: str, name: str | None) -> None:
    text = "class Unprintable(Exception):\n    def __str__(self): raise MemoryError\n    __repr__ = __str__\n"
    answer = runner.call("f", text=text + tool(body), limits={"result_bytes": 65536, "address_space_bytes": 1 << 28})
    assert answer.code == "tool_raised" and (name is None or answer.json["error"]["message"] == name)


def test_memory_that_ran_out_is_there_again_for_the_report(runner: Runner) -> None:
    body = "x, size = [], 1 << 20\nwhile size > 16:\n    try: x.append(bytes(size))\n    except MemoryError: size //= 2\nwhile True: x.append(bytes(size))"
    answer = runner.call("f", text=tool(body), limits={"result_bytes": 65536, "address_space_bytes": 1 << 28})
    assert answer.code == "tool_raised" and answer.json["error"]["message"] == "MemoryError"
    assert answer.json["error"]["line"] == len(runner.path.read_text().splitlines()) and "while True: x.append" in answer.stderr


def test_the_traceback_never_lands_in_a_file_of_the_tools(runner: Runner) -> None:
    path = runner.folder / "data"
    answer = runner.call("f", text=tool(f"import os\nos.close(2)\nfile = open({str(path)!r}, 'w')\nfile.write('mine')\nfile.flush()\nraise ValueError"))
    assert answer.code == "tool_raised" and path.read_text() == "mine" and "ValueError" in answer.stderr


def test_a_huge_traceback_is_cut_and_still_has_its_digest(runner: Runner) -> None:
    answer = runner.call("f", text=tool("raise ValueError('x' * 10000000)"))
    assert len(answer.stderr) < 70000 and "characters left out" in answer.stderr
    assert answer.json["error"]["traceback_sha256"] == hashlib.sha256(answer.stderr.encode()).hexdigest()


def test_the_traceback_shows_the_lines_that_ran(runner: Runner) -> None:
    answer = runner.call("f", text=tool("open(__file__, 'w').write('# other\\n' * 20)\nraise ValueError"))
    assert "raise ValueError" in answer.stderr and "# other" not in answer.stderr


# what the tool does to its process

def test_printing_goes_to_stderr(runner: Runner) -> None:
    answer = runner.call("f", text="import os, sys\nprint('at import')\n" + tool(
        "print('noise ✓ \\ud800'); os.write(1, b'raw noise\\n'); sys.stdout.write('no newline'); sys.__stdout__.flush()\nos.system('echo from a child')\nreturn 1"))
    assert answer.result == {"result": 1} and answer.frames()
    for words in ("at import", "noise ✓", "raw noise", "no newline", "from a child"):
        assert words in answer.stderr


@pytest.mark.parametrize("body", [
    "import sys, io\nsys.stdout = io.StringIO()\nprint('kept')\nreturn 1",
    "import sys\nsys.stdout = None\nsys.stderr = None\nreturn 1",
    "import sys\nsys.stdout.close()\nsys.stderr.close()\nreturn 1",
    "import os\nos.close(1)\nreturn 1",
    "import os\nos.close(0); os.close(1); os.close(2)\nreturn 1",
    "import os\nos.close(1); os.close(2)\nopen('data', 'w').write('x')\nreturn 1",
    "import os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 1)\nreturn 1",
    "import sys\nclass Bad:\n    def write(self, text): raise OSError\n    def flush(self): raise SystemExit\nsys.stdout = sys.stderr = Bad()\nreturn 1",
    "import sys\nsys.exit = None\nfor name in [name for name in sys.modules if name.startswith('edgestudio')]: del sys.modules[name]\nreturn 1",
    "import builtins\nbuiltins.print = builtins.open = None\nreturn 1",
    "import sys\nsys.setrecursionlimit(60)\nreturn 1",
    "import os\nos.chdir('/')\nreturn 1",
    "import os\nos.environ.clear()\nreturn 1",
    "import gc\ngc.disable()\nreturn 1",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()\nreturn 1",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\nreturn 1",
    "import atexit, time\natexit.register(time.sleep, 3600)\nreturn 1",
    "import concurrent.futures, time\nconcurrent.futures.ThreadPoolExecutor().submit(time.sleep, 3600)\nreturn 1",
    "import threading\ndef spin():\n    while True: print('busy')\nthreading.Thread(target=spin).start()\nreturn 1",
    "import sys\nsys.settrace(lambda *a: None)\nreturn 1",
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nreturn 1",
], ids=lambda body: body.split("\n")[-2][:50])
def test_nothing_the_tool_does_to_its_process_breaks_the_answer(runner: Runner, body: str) -> None:
    answer = runner.call("f", text=tool(body))
    assert answer.result == {"result": 1} and answer.status == 0


def test_a_forked_copy_answers_nothing(runner: Runner) -> None:
    assert runner.call("f", text=tool("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nreturn 1")).result == {"result": 1}


def test_a_grandchild_does_not_hold_the_private_channel(runner: Runner) -> None:
    # A process that the tool starts inherits fd 0, 1 and 2 only, even where the tool asks for all of them.
    count = "import os\nfor fd in range(3, 64):\n    try: os.fstat(fd)\n    except OSError: continue\n    print(fd)"
    answer = runner.call("f", text=tool(
        f"import subprocess, sys\nreturn subprocess.run([sys.executable, '-I', '-S', '-c', {count!r}], close_fds=False, capture_output=True, text=True).stdout"))
    assert answer.result == {"result": ""}


def test_files_that_were_left_open_are_flushed(runner: Runner) -> None:
    path = runner.folder / "log.txt"
    runner.write(f"log = open({str(path)!r}, 'a')\nraw = open({str(path)!r} + '.bin', 'ab')\n" + tool("log.write('written'); raw.write(b'bytes')\nreturn 1"))
    assert runner.call("f").result == {"result": 1}
    assert path.read_text() == "written" and path.with_name("log.txt.bin").read_bytes() == b"bytes"


def test_a_file_that_can_not_be_flushed_is_named(runner: Runner) -> None:
    answer = runner.call("f", text="log = open('/dev/full', 'w')\n" + tool("log.write('x')\nreturn 1"))
    assert answer.result == {"result": 1} and "lost what was written to it (OSError)" in answer.stderr


def test_no_state_between_calls(runner: Runner) -> None:
    runner.write("n = 0\n" + tool("global n\nn += 1\nreturn n"))
    assert [runner.call("f").result for _ in range(2)] == [{"result": 1}] * 2


def test_no_pyc_is_written(runner: Runner) -> None:
    runner.write("x = 1\n", name="helper.py")
    runner.call("f", text="import helper\n" + tool("return helper.x"))
    assert not list(runner.folder.rglob("*.pyc"))


def test_limits_are_set_before_the_file_is_loaded(runner: Runner) -> None:
    runner.write("import resource\nlimits = [resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CORE)]\n" + tool("return [list(pair) for pair in limits]"))
    got = runner.call("f", limits={"result_bytes": 65536, "address_space_bytes": 1 << 30}).result["result"]
    assert got == ([[1 << 30, 1 << 30], [0, 0]] if sys.platform == "linux" else [got[0], [0, 0]])


def test_the_result_limit_is_the_requests(runner: Runner) -> None:
    runner.write(tool("return 'xxx'"))
    assert runner.call("f", limits={"result_bytes": 16}).result == {"result": "xxx"}
    assert runner.call("f", limits={"result_bytes": 15}).code == "tool_result_oversized"


def test_a_crash_names_its_line(runner: Runner) -> None:
    answer = runner.call("f", text=tool("import ctypes\nctypes.string_at(0)\nreturn 1"))
    assert answer.status < 0 and answer.stdout == b"" and "Segmentation fault" in answer.stderr and "in f" in answer.stderr


def test_the_environment_of_the_module(runner: Runner) -> None:
    runner.write(tool("import sys\nreturn [__name__, __file__, sys.argv, sys.modules['tools'].f is f, 'tools' in sys.modules, sys.flags.isolated]"))
    assert runner.call("f").result == {"result": ["tools", str(runner.path), [str(runner.path)], True, True, 1]}


def test_dataclasses_and_pickle_find_the_module(runner: Runner) -> None:
    runner.write("import dataclasses, pickle\n@dataclasses.dataclass\nclass P:\n    x: int\n" + tool("return pickle.loads(pickle.dumps(P(3))).x"))
    assert runner.call("f").result == {"result": 3}


# async

ASYNC = {
    "sleep": ("import asyncio\nawait asyncio.sleep(0)\nreturn 7", 7),
    "gather": ("import asyncio\nasync def g(n):\n    await asyncio.sleep(0.001)\n    return n\nreturn sum(await asyncio.gather(g(3), g(4)))", 7),
    "threads": ("import asyncio\nreturn await asyncio.to_thread(lambda: 7)", 7),
    "a task left behind": ("import asyncio\nasyncio.get_running_loop().create_task(asyncio.sleep(3600))\nawait asyncio.sleep(0)\nreturn 7", 7),
    "a task that won't go": ("import asyncio\nasync def stay():\n    while True:\n        try: await asyncio.sleep(3600)\n        except asyncio.CancelledError: pass\nt = asyncio.ensure_future(stay())\nawait asyncio.sleep(0)\nreturn 7", 7),
    "contextvars": ("import contextvars\nv = contextvars.ContextVar('v', default=7)\nreturn v.get()", 7),
    "an async generator left open": ("async def g():\n    yield 7\n    yield 8\nasync for x in g():\n    return x", 7),
}


@pytest.mark.parametrize("case", ASYNC, ids=str)
def test_async(runner: Runner, case: str) -> None:
    body, want = ASYNC[case]
    assert runner.call("f", text=tool(body).replace("def f", "async def f", 1)).result == {"result": want}


@pytest.mark.parametrize(("body", "name"), [("raise ValueError('secret-4711')", "ValueError"), ("raise SystemExit(1)", "SystemExit"), ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
                                            ("import asyncio\nawait asyncio.wait_for(asyncio.sleep(60), 0.01)", "TimeoutError")], ids=str)
def test_async_failures(runner: Runner, body: str, name: str) -> None:
    answer = runner.call("f", text=tool(body).replace("def f", "async def f", 1))
    assert answer.code == "tool_raised" and answer.json["error"]["message"] == name and b"4711" not in answer.stdout


def test_the_event_loop_needs_no_socket(runner: Runner) -> None:
    # The sandbox denies every kind of socket, and the ordinary loop wakes itself through one.
    runner.write("import socket\ndef refuse(*a, **k): raise PermissionError\nsocket.socketpair = socket.socket.__init__ = refuse\n" + tool("import asyncio\nreturn await asyncio.to_thread(lambda: 7)").replace("def f", "async def f", 1))
    assert runner.call("f").result == {"result": 7}


def test_calls_leave_nothing_behind(runner: Runner) -> None:
    runner.write(tool("return 1"))
    for _ in range(3):
        runner.call("f")
    assert os.listdir(runner.cwd) == [] and os.listdir(runner.folder) == ["tools.py"]
