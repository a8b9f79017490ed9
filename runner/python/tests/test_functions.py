"""Each kind of decorated object is either supported and right, or refused by name."""
from __future__ import annotations

import pytest
from conftest import Runner

WRAPS = """
import functools

def double(function):
    @functools.wraps(function)
    def wrapper(*a, **k):
        return function(*a, **k) * 2
    return wrapper

def hidden(function):
    def wrapper(*a, **k):
        return function(*a, **k) * 2
    return wrapper
"""

SUPPORTED = {
    "plain": ("@edge_tool\ndef f(a: int):\n    'd'\n    return a\n", 21),
    "empty parentheses": ("@edge_tool()\ndef f(a: int):\n    'd'\n    return a\n", 21),
    "async": ("@edge_tool\nasync def f(a: int):\n    'd'\n    return a\n", 21),
    "wrapped below": (WRAPS + "@edge_tool\n@double\ndef f(a: int):\n    'd'\n    return a\n", 42),
    "wrapped twice": (WRAPS + "@edge_tool\n@double\n@double\ndef f(a: int):\n    'd'\n    return a\n", 84),
    "wrapped above": (WRAPS + "@double\n@edge_tool\ndef f(a: int):\n    'd'\n    return a\n", 42),
    "wrapped on both sides": (WRAPS + "@double\n@edge_tool\n@double\ndef f(a: int):\n    'd'\n    return a\n", 84),
    "a cache above": (WRAPS + "@functools.lru_cache\n@edge_tool\ndef f(a: int):\n    'd'\n    return a\n", 21),
    "a wrapped copy beside it": (WRAPS + "@edge_tool\ndef f(a: int):\n    'd'\n    return a\ng = double(f)\n", 21),
    "an alias": ("@edge_tool\ndef f(a: int):\n    'd'\n    return a\ng = f\n", 21),
    "deleted afterwards": ("@edge_tool\ndef f(a: int):\n    'd'\n    return a\ndel f\n", 21),
    "made by a function": ("def make():\n    @edge_tool\n    def f(a: int):\n        'd'\n        return a\n    return f\nmake()\n", 21),
    "made by a function, beside a namesake": ("def make():\n    @edge_tool\n    def f(a: int):\n        'd'\n        return a\nmake()\nf = 1\n", 21),
    "applied by hand": ("def g(a: int):\n    'd'\n    return a\nedge_tool(name='f')(g)\n", 21),
    "in a condition": ("if True:\n    @edge_tool\n    def f(a: int):\n        'd'\n        return a\nelse:\n    pass\n", 21),
    "a declared __signature__": (
        "import inspect\ndef g(*a, **k):\n    'd'\n    return k['a']\n"
        "g.__signature__ = inspect.Signature([inspect.Parameter('a', inspect.Parameter.KEYWORD_ONLY, annotation=int)])\nedge_tool(name='f')(g)\n", 21),
}


@pytest.mark.parametrize("text", SUPPORTED, ids=str)
def test_supported(runner: Runner, text: str) -> None:
    source, want = SUPPORTED[text]
    tool = runner.inspect(source).tools["f"]
    assert tool["parameters"]["properties"] == {"a": {"type": "integer"}}
    assert runner.call("f", {"a": 21}).result == {"result": want}


REFUSED = {
    "a lambda": ("f = edge_tool(name='f')(lambda: 1)\n", "lambda"),
    "a method": ("class A:\n    @edge_tool\n    def f(self, a: int):\n        'd'\n", "A.f"),
    "a method of an inner class": ("def make():\n    class A:\n        @edge_tool\n        def f(self, a: int):\n            'd'\nmake()\n", "the class A"),
    "a staticmethod above": ("class A:\n    @staticmethod\n    @edge_tool\n    def f(a: int):\n        'd'\n", "A.f"),
    "a staticmethod below": ("class A:\n    @edge_tool\n    @staticmethod\n    def f(a: int):\n        'd'\n", "staticmethod"),
    "a classmethod": ("class A:\n    @edge_tool\n    @classmethod\n    def f(cls, a: int):\n        'd'\n", "classmethod"),
    "a property": ("class A:\n    @edge_tool\n    @property\n    def f(self):\n        'd'\n", "property"),
    "a bound method": ("class A:\n    def f(self, a: int):\n        'd'\nedge_tool(A().f)\n", "method"),
    "a partial": ("import functools\ndef g(a: int, b: int):\n    'd'\nf = edge_tool(functools.partial(g, 1))\n", "partial"),
    "a class": ("@edge_tool\nclass F:\n    'd'\n", "the class F"),
    "a builtin": ("edge_tool(len)\n", "builtin_function_or_method (len)"),
    "a callable object": ("class A:\n    def __call__(self, a: int): pass\nedge_tool(A())\n", "a A"),
    "a cache below": ("import functools\n@edge_tool\n@functools.lru_cache\ndef f(a: int):\n    'd'\n", "lru_cache"),
    "a generator": ("@edge_tool\ndef f(a: int):\n    'd'\n    yield a\n", "generator"),
    "an async generator": ("@edge_tool\nasync def f(a: int):\n    'd'\n    yield a\n", "async generator"),
    "a number": ("edge_tool(5)\n", "int"),
    "wrapping a builtin": ("import functools\n@edge_tool\n@functools.wraps(len)\ndef f(a: int):\n    'd'\n", "len"),
    "wrapping a class": ("import functools\n@edge_tool\n@functools.wraps(dict)\ndef f(a: int):\n    'd'\nf.__qualname__ = 'f'\n", "dict"),
    "hidden by a decorator above": (WRAPS + "@hidden\n@edge_tool\ndef f(a: int):\n    'd'\n", "another function (hidden.<locals>.wrapper"),
    "shadowed by a plain function": ("@edge_tool\ndef f(a: int):\n    'd'\n\ndef f():\n    pass\n", "another function (f, line"),
    "shadowed by a value": ("@edge_tool\ndef f(a: int):\n    'd'\nf = 5\n", "f is 5"),
    "several wrappers": (WRAPS + "@edge_tool\ndef f(a: int):\n    'd'\ng = double(f)\nh = double(f)\nf = None\n", "several"),
    "a context manager above": ("import contextlib\n@edge_tool\n@contextlib.contextmanager\ndef f(a: int):\n    'd'\n    yield a\nimport types\n"
                                "def g(a: int):\n    yield a\nedge_tool(g)\n", "generator"),
    "a broken __signature__": ("def f(a: int): pass\nf.__signature__ = 5\nedge_tool(f)\n", "__signature__"),
}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused(runner: Runner, case: str) -> None:
    source, words = REFUSED[case]
    answer = runner.inspect(source)
    assert "unsupported_function" in answer.codes, answer.errors
    error = next(error for error in answer.errors if error["code"] == "unsupported_function")
    assert words in error["message"], error["message"]
    assert 0 < error["line"] <= len(runner.path.read_text().splitlines())


def test_an_undecorated_wrapper_is_refused_by_its_star_arguments(runner: Runner) -> None:
    answer = runner.inspect(WRAPS + "@edge_tool\n@hidden\ndef f(a: int):\n    'd'\n")
    assert {(error["code"], error["parameter"]) for error in answer.errors} == {("unsupported_type_hint", "a"), ("unsupported_type_hint", "k")}


def test_a_wrapper_that_turns_async_into_plain_is_awaited(runner: Runner) -> None:
    runner.write(WRAPS + """
def logged(function):
    @functools.wraps(function)
    def wrapper(*a, **k):
        return function(*a, **k)
    return wrapper

@edge_tool
@logged
async def f(a: int):
    'd'
    import asyncio
    await asyncio.sleep(0)
    return a
""")
    assert runner.call("f", {"a": 3}).result == {"result": 3}


def test_a_wrapper_that_collects_a_generator_is_fine(runner: Runner) -> None:
    runner.write("""
import functools
def collected(function):
    @functools.wraps(function)
    def wrapper(*a, **k):
        return list(function(*a, **k))
    return wrapper

@edge_tool
@collected
def f(a: int):
    'd'
    yield from range(a)
""")
    assert list(runner.inspect().tools) == ["f"]
    assert runner.call("f", {"a": 3}).result == {"result": [0, 1, 2]}


def test_string_annotations_of_a_wrapped_function_mean_its_own_module(runner: Runner) -> None:
    runner.write(WRAPS.replace("\n", "\nOther = str\n", 1), name="helpers.py")
    runner.write("from helpers import double\nOther = int\n@edge_tool\n@double\ndef f(a: 'Other'):\n    'd'\n    return a\n")
    assert runner.inspect().tools["f"]["parameters"]["properties"] == {"a": {"type": "integer"}}


def test_redefined_tools_are_duplicates(runner: Runner) -> None:
    answer = runner.inspect("""
        @edge_tool
        def f(a: int):
            'first'

        @edge_tool
        def f(a: str):
            'second'
        """)
    (error,) = answer.errors
    lines = runner.path.read_text().splitlines()
    assert error["code"] == "duplicate_tool_name" and error["tool"] == "f" and lines[error["line"] - 1] == "def f(a: str):"
    assert f"line {error['line'] - 4}" in error["message"]


def test_duplicates_by_name(runner: Runner) -> None:
    answer = runner.inspect("""
        @edge_tool(name="f")
        def a():
            'd'

        @edge_tool(name="f")
        def b():
            'd'

        @edge_tool
        @edge_tool
        def c():
            'd'
        """)
    assert [(error["code"], error["tool"]) for error in answer.errors] == [("duplicate_tool_name", "f"), ("duplicate_tool_name", "c")]


def test_names_that_differ_in_case_are_two_tools(runner: Runner) -> None:
    assert list(runner.inspect("@edge_tool\ndef a():\n    'd'\n\n@edge_tool\ndef A():\n    'd'\n").tools) == ["a", "A"]


def test_tools_made_in_a_loop(runner: Runner) -> None:
    runner.write("""
        for name in ("one", "two"):
            @edge_tool(name=name)
            def _(name: str = name):
                'd'
                return name
        """)
    assert list(runner.inspect().tools) == ["one", "two"]
    assert runner.call("one").result == {"result": "one"}
    assert runner.call("two").result == {"result": "two"}


def test_the_line_is_that_of_the_def(runner: Runner) -> None:
    tools = runner.inspect(WRAPS + """
@edge_tool(
    description="d",
)
@double
def f(
    a: int,
): return a

@edge_tool
async def g(): 'd'
""").tools
    lines = runner.path.read_text().splitlines()
    assert lines[tools["f"]["line"] - 1] == "def f(" and lines[tools["g"]["line"] - 1] == "async def g(): 'd'"
    assert tools["f"]["function"] == "f"


def test_pythons_warnings_are_shown_once(runner: Runner) -> None:
    answer = runner.inspect("@edge_tool\ndef f():\n    'd'\n    return 1 is 1\n")
    assert list(answer.tools) == ["f"] and answer.stderr.count("SyntaxWarning") == 1


def test_all_problems_of_a_file_at_once(runner: Runner) -> None:
    answer = runner.inspect("""
        @edge_tool(name="no spaces", permissions=["network"], execution_level="sometimes")
        def a(x, y: dict, z: str = None):
            'd'

        @edge_tool
        class B:
            pass

        @edge_tool("c")
        def c():
            'd'

        @edge_tool
        def good(x: int):
            'd'

        @edge_tool
        def good(x: int):
            'd'
        """)
    assert sorted(answer.codes) == sorted([
        "invalid_tool_name", "unsupported_permission", "invalid_execution_level", "missing_parameter_type_hint", "unsupported_type_hint",
        "invalid_parameter_default", "unsupported_function", "invalid_tool_metadata", "duplicate_tool_name"])
    lines = [error["line"] for error in answer.errors]
    assert lines == sorted(lines)


def test_hostile_names_of_the_file_are_left_alone(runner: Runner) -> None:
    runner.write("""
        class Trap:
            def __getattribute__(self, name):
                print("touched", name)
                raise RuntimeError("no")

        class Liar:
            __wrapped__ = property(lambda self: self)

        trap, liar = Trap(), Liar()

        @edge_tool
        def f():
            'd'
            return 1
        """)
    answer = runner.inspect()
    assert list(answer.tools) == ["f"] and "touched" not in answer.stderr
    assert runner.call("f").result == {"result": 1}
