"""What a docstring says of a function and its parameters, in Google's, NumPy's or Sphinx's style."""
from __future__ import annotations

import inspect
import logging
import re
from dataclasses import dataclass
from typing import Any, Callable, Literal, Optional

from edgestudio.agents import _packages

DocstringStyle = Literal["google", "numpy", "sphinx"]

# In the order that wins where two styles score the same.
_MARKS: dict[DocstringStyle, tuple[str, ...]] = {
    "sphinx": (r"^:param\s", r"^:type\s", r"^:return:", r"^:rtype:"),
    "numpy": (r"^Parameters\s*\n\s*-{3,}", r"^Returns\s*\n\s*-{3,}", r"^Yields\s*\n\s*-{3,}"),
    "google": (r"^(Args|Arguments):", r"^Returns:", r"^Raises:"),
}
# Griffe reads an "Args:" that follows a line of text as more of that text.
_CRAMPED_HEADER = re.compile(r"(?<=[^\n])\n(?=(?:args|arguments|params|parameters):[ \t]*\n[ \t]+\S)", re.IGNORECASE)


@dataclass
class FuncDocumentation:
    name: str
    description: Optional[str]
    param_descriptions: Optional[dict[str, str]]


def detect_style(doc: str) -> DocstringStyle:
    """The style with most of its marks in doc; sphinx before numpy before google among equals; google if there are none."""
    scores = {style: sum(bool(re.search(mark, doc, re.MULTILINE)) for mark in marks) for style, marks in _MARKS.items()}
    best = max(scores, key=scores.__getitem__)
    return best if scores[best] else "google"


def generate_func_documentation(func: Callable[..., Any], style: Optional[DocstringStyle] = None) -> FuncDocumentation:
    """The docstring's first text section and its parameters' descriptions. ImportError where griffe isn't installed."""
    doc = inspect.getdoc(func)
    if not doc:
        return FuncDocumentation(func.__name__, None, None)
    style = style or detect_style(doc)
    if style == "google":
        doc = _CRAMPED_HEADER.sub("\n\n", doc)
    description: Optional[str] = None
    parameters: dict[str, str] = {}
    for section in _sections(doc, style):
        if section.kind.value == "text" and description is None:
            description = section.value
        elif section.kind.value == "parameters":
            parameters.update((parameter.name.lstrip("*"), parameter.description) for parameter in section.value)
    return FuncDocumentation(func.__name__, description, parameters or None)


def _sections(doc: str, style: DocstringStyle) -> list[Any]:
    griffe = _packages.griffe()
    warnings = logging.getLogger("griffe")
    before = warnings.level
    warnings.setLevel(logging.ERROR)  # that a parameter has no annotation in the docstring is no news
    try:
        # Griffe takes the indentation from the second line on, where a docstring that begins with "Args:" has its own.
        return list(griffe.Docstring("\n" + doc, lineno=1, parser=style).parse())
    finally:
        warnings.setLevel(before)
