"""Descriptions out of docstrings."""
from __future__ import annotations

from typing import Annotated, Any, Optional

import pytest
from edgestudio.agents import function_schema
from edgestudio.agents.docstring import detect_style, generate_func_documentation

GOOGLE = """Quote a fee.

More of it.

Args:
    amount: How much.
    tier: Which tier,
        in words.

Returns:
    The fee.
"""
NUMPY = """Quote a fee.

Parameters
----------
amount : int
    How much.
tier : str
    Which tier.

Returns
-------
int
    The fee.
"""
SPHINX = """Quote a fee.

:param amount: How much.
:param tier: Which tier.
:type tier: str
:return: The fee.
"""


def documented(text: Optional[str]) -> Any:
    def quote(amount, tier): ...
    quote.__doc__ = text
    return quote


@pytest.mark.parametrize(("text", "style"), [(GOOGLE, "google"), (NUMPY, "numpy"), (SPHINX, "sphinx")])
def test_every_style_is_read_and_found_out(text: str, style: Any) -> None:
    assert detect_style(text) == style
    for found in (generate_func_documentation(documented(text)), generate_func_documentation(documented(text), style)):
        assert found.name == "quote" and found.description.startswith("Quote a fee.")
        assert found.param_descriptions["amount"] == "How much." and found.param_descriptions["tier"].startswith("Which tier")


@pytest.mark.parametrize(("text", "style"), [
    ("Nothing to go by.", "google"),
    ("Args:\n    a: A.\n\n:param a: A.", "sphinx"),  # one mark each
    ("Args:\n    a: A.\n\nParameters\n----------\na : int", "numpy"),
    (":param a: A.\n\nParameters\n----------\na : int", "sphinx"),
    ("Args:\n    a: A.\n\nReturns:\n    B.\n\n:param a: A.", "google"),  # two against one
    ("Parameters\n----------\n\nReturns\n-------\n\n:param a: A.", "numpy"),
    ("Parameters\n--\n", "google"),  # too short a line
    ("See :param a: inside a line.", "google"),
])
def test_most_marks_win_and_sphinx_before_numpy_before_google(text: str, style: str) -> None:
    assert detect_style(text) == style


def test_a_given_style_is_believed() -> None:
    assert generate_func_documentation(documented(GOOGLE), "sphinx").param_descriptions is None


def test_a_header_needs_no_blank_line_above_it() -> None:
    found = generate_func_documentation(documented("Quote a fee.\nArgs:\n    amount: How much."))
    assert (found.description, found.param_descriptions) == ("Quote a fee.", {"amount": "How much."})


def test_a_docstring_may_begin_with_its_parameters() -> None:
    found = generate_func_documentation(documented("\n    Args:\n        amount: How\n            much.\n    "))
    assert (found.description, found.param_descriptions) == (None, {"amount": "How\nmuch."})


def test_stars_are_no_part_of_a_name() -> None:
    assert generate_func_documentation(documented("F.\n\nArgs:\n    *rest: R.\n    **more: M.")).param_descriptions == {"rest": "R.", "more": "M."}


def test_the_first_text_describes_the_function() -> None:
    assert generate_func_documentation(documented("First.\n\nArgs:\n    amount: How much.\n\nLater words.")).description == "First."


def test_no_docstring_says_nothing() -> None:
    found = generate_func_documentation(documented(None))
    assert (found.name, found.description, found.param_descriptions) == ("quote", None, None)


def test_the_schema_takes_the_docstrings_words_before_others() -> None:
    def f(a: Annotated[int, "note a"], b: Annotated[int, "note b"]) -> None:
        """Do f.

        Args:
            a: doc a
        """
    with_docstring, without = function_schema(f), function_schema(f, use_docstring_info=False)
    described = [{name: item["description"] for name, item in schema.params_json_schema["properties"].items()} for schema in (with_docstring, without)]
    assert described == [{"a": "doc a", "b": "note b"}, {"a": "note a", "b": "note b"}]
    assert (with_docstring.description, without.description) == ("Do f.", None)
