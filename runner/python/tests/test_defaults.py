from __future__ import annotations

import pytest
from conftest import Runner
from test_types import same

GOOD = [
    ("str = 'x'", "x"), ("str = ''", ""), ("int = 0", 0), ("int = -5", -5), ("float = 1", 1), ("float = 0.5", 0.5), ("float = -0.0", 0),
    ("bool = True", True), ("Optional[str] = None", None), ("Optional[str] = 'x'", "x"), ("str | None = None", None),
    ("Literal['a', 'b'] = 'b'", "b"), ("Literal[1, 2] = 2", 2), ("Literal[True] = True", True), ("Literal[0.5] = 0.5", 0.5),
    ("Literal['a', None] = None", None), ("Optional[Literal['a']] = None", None), ("list[int] = []", []), ("list[int] = [1, 2]", [1, 2]),
    ("list[float] = [1, 2.5]", [1, 2.5]), ("list[list[str]] = [['a'], []]", [["a"], []]), ("Optional[list[int]] = None", None),
    ("list[Optional[int]] = [None, 1]", [None, 1]), ("int = 9007199254740991", 9007199254740991), ("float = 1e300", 1e300),
]

BAD = [
    "str = None", "int = None", "list[int] = None", "Literal['a'] = None", "str = 1", "str = b'x'", "int = '1'", "int = 1.0", "int = True",
    "float = True", "float = '1'", "float = float('nan')", "float = float('inf')", "bool = 1", "bool = 0", "bool = 'true'",
    "Literal['a'] = 'b'", "Literal[1, 2] = True", "Literal[1] = 1.0", "Literal[True] = 1", "list[int] = ()", "list[int] = ['a']", "list[int] = [True]", "list[int] = [None]",
    "list[int] = {}", "Optional[int] = 'x'", "int = 9007199254740992", "int = 10 ** 5000", "float = 10 ** 400", "float = 1e20", "str = '\\ud800'", "str = 'x' * 70000",
    "str = object()", "str = Text('x')", "int = One.ONE", "list[int] = Items([1])", "str = Word.A", "float = __import__('decimal').Decimal(1)",
]


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> dict:
    text = """
import enum
class Text(str): pass
class Items(list): pass
class One(enum.IntEnum):
    ONE = 1
class Word(str, enum.Enum):
    A = "a"
"""
    for prefix, cases in (("ok", [case[0] for case in GOOD]), ("no", BAD)):
        for index, case in enumerate(cases):
            text += f"\n@edge_tool\ndef {prefix}{index}(value: {case}, other: Optional[int] = None):\n    'd'\n"
    runner = Runner(tmp_path_factory.mktemp("defaults"))
    runner.write(text)
    return runner.inspect().json


@pytest.mark.parametrize("index", range(len(GOOD)), ids=[case[0] for case in GOOD])
def test_good(inspected: dict, index: int) -> None:
    tools = {tool["name"]: tool for tool in inspected["tools"]}
    assert f"ok{index}" in tools, [error for error in inspected["errors"] if error["tool"] == f"ok{index}"]
    schema = tools[f"ok{index}"]["parameters"]
    assert schema["required"] == [] and same(schema["properties"]["value"]["default"], GOOD[index][1])


@pytest.mark.parametrize("index", range(len(BAD)), ids=BAD)
def test_bad(inspected: dict, index: int) -> None:
    errors = [error for error in inspected["errors"] if error["tool"] == f"no{index}"]
    assert [(error["code"], error["parameter"]) for error in errors] == [("invalid_parameter_default", "value")]


def test_cycles_and_depth(runner: Runner) -> None:
    answer = runner.inspect("""
        loop = []
        loop.append(loop)
        deep = []
        for _ in range(100000):
            deep = [deep]

        @edge_tool
        def f(a: list[int] = loop, b: list[list[int]] = deep):
            'd'
        """)
    assert answer.codes == ["invalid_parameter_default"] * 2


def test_defaults_are_pythons_own_when_left_out(runner: Runner) -> None:
    runner.write("""
        @edge_tool
        def f(a: int = 1, b: float = 2, c: list[int] = [3], d: Optional[str] = None):
            'd'
            return [a, b, c, d]
        """)
    assert runner.call("f", {}).result == {"result": [1, 2, [3], None]}
    assert runner.call("f", {"b": 5, "d": None}).result == {"result": [1, 5, [3], None]}
