"""Functions of all kinds of parameters that pydantic describes, for tools/pydantic_test.go.

    corpus.py print    writes what corpus.json beside this file holds: each function's schema as a function tool has it,
                       and calls that are right
    corpus.py check    reads lines of {"name": …, "arguments": …}, and writes for each what pydantic says of it: "" or why not

It needs pydantic, griffelib and edgestudio (runner/python) on the path.
"""
from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import pathlib
import sys
import uuid
from typing import Annotated, Any, Dict, FrozenSet, List, Literal, NamedTuple, Optional, Set, Tuple, Union

from pydantic import UUID4, AnyUrl, BaseModel, ByteSize, Field, JsonValue, NonNegativeInt, StringConstraints
from typing_extensions import NotRequired, TypedDict

from edgestudio.agents.function_schema import function_schema


class Unit(enum.Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    number: int = Field(ge=1, description="The house's number.")
    zip: Optional[str] = None


class Person(BaseModel):
    name: str = Field(min_length=1, max_length=40)
    age: Annotated[int, Field(ge=0, le=150)]
    home: Optional[Address] = None
    unit: Unit = Unit.CELSIUS


class Node(BaseModel):
    value: int
    children: List["Node"] = []


class Chain(BaseModel):
    next: Optional["Chain"] = None
    label: str


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Point(NamedTuple):
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


@dataclasses.dataclass
class Order:
    sku: str
    count: int = 1
    tags: List[str] = dataclasses.field(default_factory=list)


CASES: list[tuple[str, Any, list[dict[str, Any]], str]] = []


def case(*calls: dict[str, Any], strict: bool = True, wider: str = "") -> Any:
    """wider: why pydantic may refuse what the grammar lets through."""
    def register(function: Any) -> Any:
        CASES.append((function.__name__, function_schema(function, strict_json_schema=strict), list(calls), wider))
        return function
    return register


@case({"a": "x", "b": 1, "c": 1.5, "d": True})
def plain(a: str, b: int, c: float, d: bool): ...
@case({"a": None, "b": 3}, {"a": 3, "b": None})
def optional(a: Optional[int], b: Union[int, None] = None): ...
@case({"a": 1}, {"a": "x"})
def union(a: Union[int, str]): ...
@case({"a": [1, 2]}, {"a": "x"}, {"a": None})
def union_list(a: Union[List[int], str, None]): ...
@case({"unit": "kelvin", "level": 2})
def enums(unit: Unit, level: Level = Level.LOW): ...
@case({"unit": None}, {"unit": "celsius"})
def optional_enum(unit: Optional[Unit] = None): ...
@case({"a": "x", "b": 2, "c": "only"}, {"a": "y", "b": "two", "c": "only"})
def literals(a: Literal["x", "y"], b: Literal[1, 2, "two"], c: Literal["only"]): ...
@case({"address": {"street": "High Street", "number": 4, "zip": None}})
def model(address: Address): ...
@case({"person": {"name": "Ann", "age": 30, "home": {"street": "a", "number": 1, "zip": "x"}, "unit": "kelvin"}}, {"person": {"name": "Ann", "age": 30, "home": None, "unit": "celsius"}})
def nested(person: Person): ...
@case({"person": None, "others": []}, {"person": {"name": "A", "age": 0, "home": None, "unit": "kelvin"}, "others": [{"street": "s", "number": 9, "zip": None}]})
def optional_nested(person: Optional[Person], others: List[Address]): ...
@case({"person": {"name": "Ann", "age": 30}}, strict=False)
def loose_nested(person: Person): ...
@case({"node": {"value": 1, "children": [{"value": 2, "children": []}]}})
def recursive(node: Node): ...
@case({"chain": {"next": {"next": None, "label": "b"}, "label": "a"}}, {"chain": None})
def chained(chain: Optional[Chain]): ...
@case({"pet": {"kind": "dog", "name": "Rex"}}, {"pet": {"kind": "cat", "lives": 9}})
def discriminated(pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]): ...
@case({"pet": {"kind": "dog", "name": "Rex"}}, {"pet": {"kind": "cat", "lives": 9}}, strict=False)
def loose_discriminated(pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")]): ...
@case({"pets": [{"kind": "dog", "name": "Rex"}, {"kind": "cat", "lives": 9}]})
def union_models(pets: List[Union[Cat, Dog]]): ...
@case({"movie": {"title": "Alien", "year": 1979}})
def typed_dict(movie: Movie): ...
@case({"movie": {"title": "Alien"}}, {"movie": {"title": "Alien", "year": 1979}}, strict=False)
def loose_typed_dict(movie: Movie): ...
@case({"order": {"sku": "A-1", "count": 2, "tags": ["x"]}})
def dataclass(order: Order): ...
@case({"order": {"sku": "A-1"}}, {"order": {"sku": "A-1", "count": 3}}, strict=False)
def loose_dataclass(order: Order): ...
@case({"p": [1, 2]})
def named_tuple(p: Point): ...
@case({"a": [1, "x"], "b": [1, 2, 3], "c": []})
def tuples(a: Tuple[int, str], b: Tuple[int, ...], c: Tuple[int, ...] = ()): ...
@case({"a": ["x"], "b": [1, 2], "c": [[1], []]})
def lists(a: Annotated[List[str], Field(min_length=1, max_length=3)], b: Annotated[List[int], Field(min_length=2)], c: List[List[int]]): ...
@case({"a": [1, 2], "b": ["x"]})
def sets(a: Set[int], b: FrozenSet[str]): ...
@case({"a": 5, "b": -3, "c": 7, "d": 0, "e": -10})
def integers(a: Annotated[int, Field(gt=4, lt=1234)], b: Annotated[int, Field(ge=-30, le=-3)], c: Annotated[int, Field(ge=-5, le=17)], d: NonNegativeInt, e: Annotated[int, Field(lt=0)]): ...
@case({"a": 0.5, "b": -2.25, "c": 100, "d": 0.001})
def numbers(a: Annotated[float, Field(ge=0, le=1)], b: Annotated[float, Field(gt=-10, lt=10)], c: Annotated[float, Field(ge=100)], d: Annotated[float, Field(gt=0)]): ...
@case({"a": 0.5}, wider="a limit that isn't whole is kept in its whole part")
def fractional_limit(a: Annotated[float, Field(ge=0.25, le=0.75)]): ...
@case({"a": 15}, wider="a grammar doesn't divide")
def multiple(a: Annotated[int, Field(multiple_of=5)]): ...
@case({"a": "abc", "b": "A-17", "c": "x9", "d": "a\"b"})
def patterns(a: Annotated[str, Field(pattern="^[a-z]{2,5}$")], b: Annotated[str, Field(pattern=r"^[A-Z]-\d+$")], c: Annotated[str, Field(pattern=r"\d")], d: Annotated[str, Field(pattern=r'^a"b|(?i:quit)$')]): ...
@case({"a": "a b"}, wider="a boundary in a pattern")
def boundary(a: Annotated[str, Field(pattern=r"\b")]): ...
@case({"a": "ab", "b": "", "c": "x" * 30})
def lengths(a: Annotated[str, Field(min_length=2, max_length=4)], b: Annotated[str, Field(max_length=3)], c: Annotated[str, StringConstraints(min_length=20)]): ...
@case({"a": "abc"}, wider="a pattern's text isn't counted")
def pattern_and_length(a: Annotated[str, Field(pattern="^[a-z]*$", max_length=3)]): ...
@case({"d": "2026-12-01", "t": "10:30:00", "when": "2026-12-01T10:30:00Z"}, wider="29 February is in every year")
def moments(d: datetime.date, t: datetime.time, when: datetime.datetime): ...
@case({"d": "P1DT2H"}, {"d": "PT5M"})
def duration(d: datetime.timedelta): ...
@case({"u": "0b7f2f5e-8d5f-4a3b-9f52-0f4ad7a4ee7a", "v": "0b7f2f5e-8d5f-4a3b-9f52-0f4ad7a4ee7a"})
def uuids(u: uuid.UUID, v: UUID4): ...
@case({"a": "10.0.0.1", "b": "fe80::1"}, {"a": "255.1.2.3", "b": "::"})
def addresses(a: ipaddress.IPv4Address, b: ipaddress.IPv6Address): ...
@case({"u": "https://example.org/a?b=c"}, wider="a URL's host and port have rules of their own")
def url(u: AnyUrl): ...
@case({"a": 1.25})
def money(a: decimal.Decimal): ...
@case({"a": 12.5}, wider="digits aren't counted")
def digits(a: Annotated[decimal.Decimal, Field(max_digits=8, decimal_places=2)]): ...
@case({"a": 1024}, {"a": "5 MB"}, wider="a size's unit is any word to its pattern")
def size(a: ByteSize): ...
@case({"p": "/tmp/x", "b": "bytes"})
def texts(p: pathlib.Path, b: bytes): ...
@case({"a": {"x": [1, None, "y"]}, "b": 3, "c": [True]}, strict=False)
def anything(a: Any, b: JsonValue, c: list): ...
@case({"a": {"x": 1}, "b": {}, "c": {"k": [1]}}, strict=False)
def dicts(a: Dict[str, int], b: Dict[str, str], c: dict): ...
@case({"a": {"celsius": 1}, "b": {"ab": 1}, "c": {"x": 1}}, strict=False)
def keyed(a: Dict[Unit, int], b: Dict[Annotated[str, Field(pattern="^a[b-d]*$")], int], c: Annotated[Dict[str, int], Field(min_length=1, max_length=2)]): ...
@case({"a": {"1": "x"}}, strict=False, wider="names are texts to a schema")
def integer_keys(a: Dict[int, str]): ...
@case({"a": 1, "args": [1, 2], "options": {"x": 1}}, strict=False)
def variadic(a: int, *args: int, **options: int): ...
@case({"people": {"ann": {"name": "Ann", "age": 3}}}, strict=False)
def dict_of_models(people: Dict[str, Person]): ...
@case({"q": "x", "limit": 10, "when": None}, {"q": "x"}, strict=False)
def defaults(q: str, limit: Annotated[int, Field(ge=1, le=100)] = 10, when: Optional[datetime.date] = None): ...


def show() -> None:
    corpus = [{"name": name, "parameters": schema.params_json_schema, "calls": calls, "wider": wider} for name, schema, calls, wider in CASES]
    print(json.dumps(corpus, indent=1, ensure_ascii=True))


def check() -> None:
    models = {name: schema.params_pydantic_model for name, schema, *_ in CASES}
    for line in sys.stdin:
        call = json.loads(line)
        try:
            models[call["name"]].model_validate(call["arguments"])
            print(json.dumps(""))
        except ValueError as error:
            print(json.dumps(str(error)))


if __name__ == "__main__":
    {"print": show, "check": check}[sys.argv[1]]()
