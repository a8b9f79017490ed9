"""The table of supported annotations, and every refusal. One file holds all cases: a bad parameter condemns only itself."""
from __future__ import annotations

import pytest
from conftest import HEAD, Runner

PRELUDE = '''
import enum, pathlib, dataclasses, collections.abc, typing, types, functools

class Color(enum.Enum):
    RED = "red"

class Number(enum.IntEnum):
    ONE = 1

@dataclasses.dataclass
class Point:
    x: int

class Hostile:
    def __repr__(self): raise RuntimeError("no")
    def __eq__(self, other): raise RuntimeError("no")
    __hash__ = None

UserId = NewType("UserId", int)
Alias = int
T = typing.TypeVar("T")
Self = "Self"
'''

STRING, INTEGER, NUMBER, BOOLEAN = ({"type": name} for name in ("string", "integer", "number", "boolean"))


def array(items: dict) -> dict:
    return {"type": "array", "items": items}


SUPPORTED = [
    ("str", STRING), ("int", INTEGER), ("float", NUMBER), ("bool", BOOLEAN), ("Alias", INTEGER),
    ("'int'", INTEGER), ("' int '", INTEGER), ("'Optional[\"int\"]'", {"type": ["integer", "null"]}),
    ("Literal['a', 'b']", {"type": "string", "enum": ["a", "b"]}),
    ("Literal['b', 'a', 'b']", {"type": "string", "enum": ["b", "a"]}),
    ("Literal['']", {"type": "string", "enum": [""]}),
    ("Literal['日本 ✓']", {"type": "string", "enum": ["日本 ✓"]}),
    ("Literal[1, 2]", {"type": "integer", "enum": [1, 2]}),
    ("Literal[0, -1]", {"type": "integer", "enum": [0, -1]}),
    ("Literal[True, False]", {"type": "boolean", "enum": [True, False]}),
    ("Literal[True]", {"type": "boolean", "enum": [True]}),
    ("Literal[0.5, 1.5]", {"type": "number", "enum": [0.5, 1.5]}),
    ("Literal[1.0, -0.0]", {"type": "number", "enum": [1, 0]}),
    ("Literal['a', None]", {"type": ["string", "null"], "enum": ["a", None]}),
    ("Literal[Literal['a'], 'b']", {"type": "string", "enum": ["a", "b"]}),
    ("Optional[str]", {"type": ["string", "null"]}),
    ("str | None", {"type": ["string", "null"]}),
    ("None | str", {"type": ["string", "null"]}),
    ("Union[str, None]", {"type": ["string", "null"]}),
    ("Union[int]", INTEGER),
    ("Optional[Optional[int]]", {"type": ["integer", "null"]}),
    ("Optional[bool]", {"type": ["boolean", "null"]}),
    ("Optional[Literal['a', 'b']]", {"type": ["string", "null"], "enum": ["a", "b", None]}),
    ("Optional[Literal['a', None]]", {"type": ["string", "null"], "enum": ["a", None]}),
    ("list[int]", array(INTEGER)), ("List[int]", array(INTEGER)), ("typing.List[str]", array(STRING)),
    ("list['int']", array(INTEGER)),
    ("list[list[int]]", array(array(INTEGER))),
    ("list[Literal['a', 'b']]", array({"type": "string", "enum": ["a", "b"]})),
    ("list[Optional[int]]", array({"type": ["integer", "null"]})),
    ("Optional[list[int]]", {"type": ["array", "null"], "items": INTEGER}),
    ("list[int] | None", {"type": ["array", "null"], "items": INTEGER}),
    ("Annotated[int, 'a note']", INTEGER),
    ("Optional[Annotated[int, 'a note']]", {"type": ["integer", "null"]}),
    ("list[Annotated[str, 1]]", array(STRING)),
    ("list[" * 16 + "int" + "]" * 16, None),
]

# annotation → words that the message must hold
REFUSED = [
    ("dict", "dict"), ("dict[str, int]", "dict[str, int]"), ("list", "list[str]"), ("List", "list[str]"), ("list[dict]", "dict"),
    ("list[T]", "list[str]"), ("tuple", "tuple"), ("tuple[int, ...]", "tuple"), ("set[int]", "set"), ("bytes", "bytes"),
    ("object", "object"), ("Any", "Any"), ("None", "None"), ("type(None)", "NoneType"), ("complex", "complex"),
    ("Color", "tools.Color"), ("Number", "tools.Number"), ("Point", "tools.Point"), ("pathlib.Path", "Path"), ("UserId", "UserId"), ("T", "~T"),
    ("typing.TypedDict('D', {'a': int})", "D"), ("collections.abc.Sequence[int]", "Sequence"), ("typing.Sequence[int]", "Sequence"),
    ("typing.Callable[[], int]", "Callable"), ("typing.Type[int]", "Type"), ("type", "type"), ("Optional", "Optional"), ("Union", "Union"), ("Literal", "Literal"),
    ("Union[int, str]", "union of 2 types"), ("int | str", "union of 2 types"), ("Optional[Union[int, str]]", "union of 2 types"),
    ("Union[int, bool]", "union of 2 types"), ("Union[int, float, None]", "union of 2 types"), ("list[int | str]", "union of 2 types"),
    ("Literal['a'] | Literal['b']", "union of 2 types"), ("Optional[dict]", "dict"), ("Optional[list]", "list[str]"), ("list[int, str]", "list[int, str]"),
    ("Literal['x', 1]", "str and int"), ("Literal[1, True]", "int and bool"), ("Literal[True, 1]", "bool and int"), ("Literal[0, False]", "int and bool"),
    ("Literal[1, 1.0]", "int and float"), ("Literal[1, True, '1']", "int and bool and str"), ("Literal[()]", "empty"), ("Literal[None]", "None"),
    ("Literal[b'x']", "b'x'"), ("Literal[Color.RED]", "Color.RED"), ("Literal[Number.ONE]", "Number.ONE"), ("Literal[[1]]", "[1]"),
    ("Literal['\\ud800']", "surrogate"), ("Literal[9007199254740993]", "2^53"), ("Literal[1e20]", "2^53"), ("Literal[float('nan')]", "NaN"), ("Literal[float('inf')]", "infinity"),
    ("list[" * 17 + "int" + "]" * 17, "deeper than 16"), ("Annotated[dict, 1]", "dict"), ("Hostile()", "Hostile"), ("42", "42"), ("[int]", "int"), ("...", "Ellipsis"),
    ("'Nowhere'", "'Nowhere'"), ("'list[Nowhere]'", "Nowhere"), ("list['Nowhere']", "Nowhere"), ("Optional['Nowhere']", "Nowhere"), ("'not python('", "SyntaxError"),
    ("''", "can't be resolved"), ("'exit()'", "can't be resolved"), ("'1 / 0'", "ZeroDivisionError"), ("Self", "refers to itself"), ("'(' * 2000", "can't be resolved"),
    ("typing.ClassVar[int]", "ClassVar"), ("typing.Final[int]", "Final"),
]


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> dict:
    text = PRELUDE
    for prefix, cases in (("ok", SUPPORTED), ("no", REFUSED)):
        for index, (annotation, _) in enumerate(cases):
            text += f"\n@edge_tool\ndef {prefix}{index}(good: int, value: {annotation}, other: str):\n    'd'\n"
    folder = tmp_path_factory.mktemp("types")
    runner = Runner(folder)
    runner.write(text)
    answer = runner.inspect().json
    answer["runner"], answer["text"] = runner, text
    return answer


@pytest.mark.parametrize("index", range(len(SUPPORTED)), ids=[case[0][:40] for case in SUPPORTED])
def test_supported(inspected: dict, index: int) -> None:
    annotation, want = SUPPORTED[index]
    tools = {tool["name"]: tool for tool in inspected["tools"]}
    assert f"ok{index}" in tools, [error for error in inspected["errors"] if error["tool"] == f"ok{index}"]
    schema = tools[f"ok{index}"]["parameters"]
    assert schema["required"] == ["good", "value", "other"] and schema["additionalProperties"] is False and schema["type"] == "object"
    if want is not None:
        assert same(schema["properties"]["value"], want), (annotation, schema["properties"]["value"])


@pytest.mark.parametrize("index", range(len(REFUSED)), ids=[case[0][:40] for case in REFUSED])
def test_refused(inspected: dict, index: int) -> None:
    annotation, words = REFUSED[index]
    errors = [error for error in inspected["errors"] if error["tool"] == f"no{index}"]
    assert [(error["code"], error["parameter"]) for error in errors] == [("unsupported_type_hint", "value")], errors
    assert words in errors[0]["message"] and "'value'" in errors[0]["message"], errors[0]["message"]
    assert f"no{index}" not in [tool["name"] for tool in inspected["tools"]]
    line = inspected["runner"].path.read_text().splitlines()[errors[0]["line"] - 1]
    assert line.startswith(f"def no{index}(")


def test_the_errors_come_in_the_files_order(inspected: dict) -> None:
    lines = [error["line"] for error in inspected["errors"]]
    assert lines == sorted(lines) and len(lines) == len(REFUSED)


def same(got: object, want: object) -> bool:
    """Equality that tells True from 1."""
    if type(got) is not type(want) and not {type(got), type(want)} <= {int, float}:
        return False
    if isinstance(got, dict):
        return got.keys() == want.keys() and all(same(got[key], want[key]) for key in got)
    if isinstance(got, list):
        return len(got) == len(want) and all(map(same, got, want))
    return got == want


def test_a_future_import_changes_no_schema(runner: Runner) -> None:
    text = "".join(f"\n@edge_tool\ndef t{index}(value: {annotation}):\n    'd'\n" for index, (annotation, _) in enumerate(SUPPORTED))
    plain = runner.inspect(PRELUDE + text).tools
    runner.write("from __future__ import annotations\n" + HEAD + PRELUDE + text, head=False)
    runner.path.write_text("from __future__ import annotations\n" + HEAD + PRELUDE + text, encoding="utf-8")
    future = runner.inspect().tools
    assert [tool["parameters"] for tool in future.values()] == [tool["parameters"] for tool in plain.values()]
    assert len(plain) == len(SUPPORTED)


def test_names_for_type_checkers_only_are_refused_by_name(runner: Runner) -> None:
    runner.path.write_text(
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nfrom edgestudio.tools import edge_tool\n"
        "if TYPE_CHECKING:\n    from decimal import Decimal\n\n@edge_tool\ndef f(a: int, b: Decimal, c: Missing) -> AlsoMissing:\n    'd'\n")
    assert [(error["parameter"], "NameError" in error["message"]) for error in runner.inspect().errors] == [("b", True), ("c", True)]


def test_a_type_statement_is_refused_by_name(runner: Runner) -> None:
    # `type X = int` itself is 3.12's; the object that it makes is what matters here.
    answer = runner.inspect("""
        class Lazy:
            __value__ = int
            def __repr__(self): return "X"

        @edge_tool
        def f(a: Lazy()):
            'd'
        """)
    assert answer.codes == ["unsupported_type_hint"] and "X" in answer.errors[0]["message"]


@pytest.mark.parametrize(("signature", "want"), [
    ("a", [("missing_parameter_type_hint", "a")]),
    ("a, b: int, c", [("missing_parameter_type_hint", "a"), ("missing_parameter_type_hint", "c")]),
    ("a=1", [("missing_parameter_type_hint", "a")]),
    ("*a: int", [("unsupported_type_hint", "a")]),
    ("*a", [("unsupported_type_hint", "a")]),
    ("**k: int", [("unsupported_type_hint", "k")]),
    ("a: int, *rest, b: dict, **more", [("unsupported_type_hint", "rest"), ("unsupported_type_hint", "b"), ("unsupported_type_hint", "more")]),
    ("a, /, b: str, *, c", [("missing_parameter_type_hint", "a"), ("missing_parameter_type_hint", "c")]),
])
def test_signatures_that_are_refused(runner: Runner, signature: str, want: list) -> None:
    answer = runner.inspect(f"@edge_tool\ndef f({signature}):\n    'd'\n")
    assert sorted((error["code"], error["parameter"]) for error in answer.errors) == sorted(want)


def test_every_parameter_is_reported_on_its_own_line(runner: Runner) -> None:
    answer = runner.inspect("""
        @edge_tool(
            description="d",
        )
        def f(
            a,
            b: int,
            *c: int,
            d: dict = {},
            **e: str,
        ):
            pass
        """)
    first = answer.errors[0]["line"]
    assert [(error["parameter"], error["line"] - first) for error in answer.errors] == [("a", 0), ("c", 2), ("d", 3), ("e", 4)]
    assert runner.path.read_text().splitlines()[first - 1].strip() == "a,"


def test_required_follows_the_signature(runner: Runner) -> None:
    tool = runner.inspect("""
        @edge_tool
        def f(zeta: int, alpha: str, /, mid: Optional[int], *, key: bool, late: float = 1, early: bool):
            'd'
        """).tools["f"]
    assert tool["parameters"]["required"] == ["zeta", "alpha", "mid", "key", "early"]
    assert tool["parameters"]["properties"]["late"] == {"type": "number", "default": 1}


def test_no_parameters(runner: Runner) -> None:
    assert runner.inspect("@edge_tool\ndef f():\n    'd'\n").tools["f"]["parameters"] == {
        "type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_identifiers_are_pythons(runner: Runner) -> None:
    # The compiler folds identifiers (NFKC), so the schema has the name that a keyword argument must use.
    assert list(runner.inspect("@edge_tool\ndef f(ﬃ: int, größe: str):\n    'd'\n").tools["f"]["parameters"]["properties"]) == ["ffi", "größe"]


def test_annotations_of_python_3_14(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, asking for the annotations evaluates all of them, and one unknown name fails the whole."""
    import sys
    import types
    import typing

    from edgestudio import _schema

    class Lazy:
        @property
        def __annotations__(self) -> dict:
            raise NameError("name 'Nowhere' is not defined")

    asked = []
    module = types.SimpleNamespace(
        Format=types.SimpleNamespace(FORWARDREF=3),
        get_annotations=lambda function, *, format: asked.append(format) or {"a": int, "b": typing.ForwardRef("Nowhere")})
    monkeypatch.setitem(sys.modules, "annotationlib", module)
    hints = _schema.hints_of(Lazy())
    assert asked == [3] and _schema.schema_of(hints["a"], test_no_parameters, 0) == {"type": "integer"}
    with pytest.raises(_schema.Refused, match="Nowhere"):
        _schema.schema_of(hints["b"], test_no_parameters, 0)
