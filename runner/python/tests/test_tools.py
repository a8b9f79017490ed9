"""The decorator as users and their editors meet it, outside the runner."""
from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import Literal, Optional

import pytest
from conftest import ROOT
from edgestudio import __version__
from edgestudio.tools import EdgeToolError, edge_tool


def quote(amount: float, tier: Literal["basic", "pro"] = "basic", note: Optional[str] = None) -> dict:
    """Quote a fee."""
    return {"amount": amount, "tier": tier, "note": note}


def test_the_function_stays_the_same_object() -> None:
    before = (quote.__code__, quote.__defaults__, quote.__annotations__, quote.__doc__, quote.__name__)
    assert edge_tool(quote) is quote
    assert edge_tool(name="fee_quote", intent_tags=["billing"])(quote) is quote
    assert (quote.__code__, quote.__defaults__, quote.__annotations__, quote.__doc__, quote.__name__) == before
    assert quote(250) == {"amount": 250, "tier": "basic", "note": None}
    assert quote.__edge_tool__.name == "fee_quote" and quote.__edge_tool__.function is quote


def test_an_async_function_stays_async() -> None:
    @edge_tool
    async def f() -> int:
        return 3
    assert asyncio.run(f()) == 3


@pytest.mark.parametrize(("decorate", "code"), [
    (lambda: edge_tool(5), "unsupported_function"), (lambda: edge_tool(dict), "unsupported_function"), (lambda: edge_tool(lambda: 1), "unsupported_function"),
    (lambda: edge_tool(len), "unsupported_function"), (lambda: edge_tool("name"), "invalid_tool_metadata"), (lambda: edge_tool(name="a b")(fresh()), "invalid_tool_name"),
    (lambda: edge_tool(execution_level="write")(fresh()), "invalid_execution_level"), (lambda: edge_tool(permissions=["network"])(fresh()), "unsupported_permission"),
    (lambda: edge_tool(output_schema=[])(fresh()), "invalid_output_schema"), (lambda: edge_tool(intent_tags="x")(fresh()), "invalid_tool_metadata"),
])
def test_what_is_wrong_is_raised_at_once(decorate: object, code: str) -> None:
    with pytest.raises(EdgeToolError) as caught:
        decorate()
    assert caught.value.code == code and str(caught.value).startswith(f"{code}: ")


def fresh() -> object:
    def f() -> int:
        return 1
    return f


def test_a_method_is_refused_while_its_class_is_made() -> None:
    with pytest.raises(EdgeToolError, match="defined in the class A"):
        class A:
            @edge_tool
            def f(self, a: int) -> int:
                return a


def test_unknown_arguments_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="descripton"):
        edge_tool(descripton="x")


def test_importing_the_decorator_is_cheap() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules); import edgestudio.tools; print(*sorted(set(sys.modules) - before))"],
                          capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "_contextvars", "contextvars", "edgestudio", "edgestudio.tools"}


def test_an_old_python_is_told_so() -> None:
    source = (ROOT / "edgestudio" / "__init__.py").read_text()
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys\nsys.version_info = (3, 9, 1, 'final', 0)\nexec({source!r})"], capture_output=True, text=True)
    assert "ImportError: edgestudio needs Python 3.10 or newer; this is 3.9" in done.stderr


def test_the_package_says_one_version_and_ships_its_types() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.+)"$', project, re.M).group(1) == __version__
    assert "py.typed" in project and (ROOT / "edgestudio" / "py.typed").exists()
