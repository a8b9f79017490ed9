"""The package as edge ships it: inside the runner, beside files that know nothing of it."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import conftest
import pytest

PACKAGE = conftest.ROOT / "edgestudio"


@pytest.fixture(autouse=True)
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the package's modules, as runner/sources.go embeds them."""
    for path in (PACKAGE / "agents").glob("*.py"):
        name = "edgestudio.agents" if path.stem == "__init__" else f"edgestudio.agents.{path.stem}"
        monkeypatch.setitem(conftest.MODULES, name, path.read_text(encoding="utf-8"))


def test_a_function_tool_runs_inside_the_runner(runner: conftest.Runner) -> None:
    assert runner.call(arguments={"text": '{"a": 1, "rest": [2, 3]}'}, text="""
        from edgestudio.agents import RunContextWrapper, function_tool

        @function_tool
        def add(ctx: RunContextWrapper, a: int, *rest: int) -> int:
            '''Add.

            Args:
                a: The first.
            '''
            return a + sum(rest) + ctx.context

        @edge_tool
        async def f(text: str) -> dict:
            return {"sum": await add.on_invoke_tool(RunContextWrapper(10), text), "a": add.params_json_schema["properties"]["a"]}
        """).result == {"sum": 16, "a": {"title": "A", "type": "integer", "description": "The first."}}


def test_models_of_the_file_may_be_named_as_text(runner: conftest.Runner) -> None:
    runner.write("""
        from __future__ import annotations
        from edgestudio.agents import RunContextWrapper, function_tool
        from edgestudio.tools import edge_tool
        from pydantic import BaseModel
        from typing import Optional
        from typing_extensions import TypedDict

        class Node(BaseModel):
            name: str
            below: Optional[Node] = None
            size: Optional[Size] = None

        class Size(TypedDict):
            mm: int

        @function_tool
        def depth(node: Node) -> int:
            return 1 + (depth.__wrapped__(node.below) if node.below else 0)

        @edge_tool
        async def f() -> list:
            return [depth.strict_json_schema, await depth.on_invoke_tool(RunContextWrapper(None), '{"node": {"name": "a", "below": {"name": "b", "size": {"mm": 1}}}}')]
        """, head=False)
    assert runner.call().result == {"result": [True, 2]}


def test_a_file_without_function_tools_loads_none_of_it(runner: conftest.Runner) -> None:
    assert runner.call(text="""
        import sys
        @edge_tool
        def f() -> list:
            return [name for name in sys.modules if name.split(".")[0] in ("pydantic", "griffe") or name.startswith("edgestudio.agents")]
        """).result == {"result": []}


@pytest.mark.parametrize(("missing", "body", "message"), [
    ("pydantic", '"""Do f."""', "edgestudio.agents needs the package pydantic to check arguments: pip install pydantic, or pip install 'edge-studio[agents]'"),
    ("griffe", '"""Do f."""', "edgestudio.agents needs the package griffe to read docstrings: pip install griffelib, or pip install 'edge-studio[agents]'"),
    ("griffe", "pass", ""),
])
def test_a_missing_package_is_named(runner: conftest.Runner, missing: str, body: str, message: str) -> None:
    answer = runner.inspect(f"""
        import sys
        class Missing:
            def find_spec(self, name, path=None, target=None):
                if name == {missing!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        sys.meta_path.insert(0, Missing())
        from edgestudio.agents import function_tool

        @function_tool
        def f(a: int):
            {body}

        @edge_tool
        def g() -> int:
            return 1
        """)
    if message:
        assert answer.codes == ["tools_file_import_failed"] and message in answer.errors[0]["message"]
    else:
        assert list(answer.tools) == ["f", "g"]


def test_an_old_pydantic_is_named(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("VERSION = '1.10.2'")
    done = subprocess.run([sys.executable, "-c", "from edgestudio.agents import function_tool\n@function_tool\ndef f(a: int): pass"], capture_output=True, text=True,
                          env={"PATH": os.defpath, "PYTHONPATH": f"{tmp_path}{os.pathsep}{conftest.ROOT}"})
    assert "ImportError: edgestudio.agents needs pydantic 2, got 1.10.2" in done.stderr


@pytest.mark.parametrize(("value", "kept_out"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_switch_is_an_environment_variable(value: str, kept_out: bool) -> None:
    done = subprocess.run([sys.executable, "-c", "from edgestudio.agents import _debug; print(_debug.DONT_LOG_TOOL_DATA)"], capture_output=True, text=True, check=True,
                          env={"PATH": os.defpath, "PYTHONPATH": str(conftest.ROOT), "OPENAI_AGENTS_DONT_LOG_TOOL_DATA": value})
    assert done.stdout.strip() == str(kept_out)


def test_a_tool_made_by_hand_needs_no_other_package() -> None:
    done = subprocess.run([sys.executable, "-c", "import sys; from edgestudio.agents import FunctionTool; FunctionTool('t', '', {}, None); print({'pydantic', 'griffe'} & set(sys.modules))"],
                          capture_output=True, text=True, check=True, env={"PATH": os.defpath, "PYTHONPATH": str(conftest.ROOT)})
    assert done.stdout.strip() == "set()"
