from __future__ import annotations

import pytest
from conftest import Runner

TAIL = "\ndef f():\n    'd'\n"


@pytest.mark.parametrize("name", ["f", "_", "A1", "_9", "a" * 64, "fee_quote", "None"])
def test_good_names(runner: Runner, name: str) -> None:
    assert list(runner.inspect(f"@edge_tool(name={name!r})" + TAIL).tools) == [name]


@pytest.mark.parametrize("name", ["", " ", "no spaces", "1a", "a-b", "a.b", "a" * 65, "größe", "ａ", "a\n", "\ud800", "f()", "a\0"])
def test_bad_names(runner: Runner, name: str) -> None:
    answer = runner.inspect(f"@edge_tool(name={ascii(name)})" + TAIL)
    assert answer.codes == ["invalid_tool_name"]


def test_a_functions_own_name_must_be_one_too(runner: Runner) -> None:
    answer = runner.inspect("@edge_tool\ndef größe():\n    'd'\n")
    assert [(error["code"], error["tool"]) for error in answer.errors] == [("invalid_tool_name", "größe")]


CASES = [
    ("name=5", "invalid_tool_metadata"), ("name=['f']", "invalid_tool_metadata"), ("name=object()", "invalid_tool_metadata"),
    ("description=5", "invalid_tool_metadata"), ("description=['d']", "invalid_tool_metadata"), ("description='\\ud800'", "invalid_tool_metadata"),
    ("description='x' * 70000", "invalid_tool_metadata"),
    ("intent_tags='billing'", "invalid_tool_metadata"), ("intent_tags=[1]", "invalid_tool_metadata"), ("intent_tags={'a': 1}", "invalid_tool_metadata"),
    ("intent_tags=['']", "invalid_tool_metadata"), ("intent_tags=['\\ud800']", "invalid_tool_metadata"), ("intent_tags=5", "invalid_tool_metadata"),
    ("execution_level='write'", "invalid_execution_level"), ("execution_level='READ'", "invalid_execution_level"), ("execution_level=None", "invalid_execution_level"),
    ("execution_level=1", "invalid_execution_level"), ("execution_level=['read']", "invalid_execution_level"),
    ("return_direct=1", "invalid_tool_metadata"), ("return_direct='yes'", "invalid_tool_metadata"), ("return_direct=None", "invalid_tool_metadata"),
    ("output_schema='object'", "invalid_output_schema"), ("output_schema=[]", "invalid_output_schema"), ("output_schema=True", "invalid_output_schema"),
    ("output_schema={1: 2}", "invalid_output_schema"), ("output_schema={'a': {1}}", "invalid_output_schema"), ("output_schema={'a': (1,)}", "invalid_output_schema"),
    ("output_schema={'a': float('nan')}", "invalid_output_schema"), ("output_schema={'a': 2 ** 53}", "invalid_output_schema"),
    ("output_schema={'a': int}", "invalid_output_schema"), ("output_schema=LOOP", "invalid_output_schema"), ("output_schema=DEEP", "invalid_output_schema"),
    ("permissions='read_local'", "invalid_tool_metadata"), ("permissions=['network']", "unsupported_permission"), ("permissions=['read_local', 'write']", "unsupported_permission"),
    ("permissions=[1]", "invalid_tool_metadata"), ("permissions=5", "invalid_tool_metadata"), ("permissions=['READ_LOCAL']", "unsupported_permission"),
]


@pytest.mark.parametrize(("argument", "code"), CASES, ids=[case[0] for case in CASES])
def test_bad_metadata(runner: Runner, argument: str, code: str) -> None:
    answer = runner.inspect(f"LOOP = {{}}\nLOOP['a'] = LOOP\nDEEP = {{}}\nfor _ in range(70):\n    DEEP = {{'a': DEEP}}\n\n@edge_tool({argument})" + TAIL)
    assert answer.codes == [code]
    assert answer.errors[0]["line"] == len(runner.path.read_text().splitlines()) - 1
    assert argument.partition("=")[0].rstrip("s") in answer.errors[0]["message"]


def test_metadata_is_given_on_as_it_is(runner: Runner) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
    tool = runner.inspect(f"""
        @edge_tool(name="t", description="Two\\nlines ✓", intent_tags=("b", "a"), execution_level="commit", return_direct=True,
                   output_schema={schema!r}, permissions=["read_local"])
        def f():
            "docstring"
        """).tools["t"]
    line = tool.pop("line")
    assert runner.path.read_text().splitlines()[line - 1] == "def f():"
    assert tool == {
        "name": "t", "description": "Two\nlines ✓", "intent_tags": ["b", "a"], "execution_level": "commit", "return_direct": True,
        "output_schema": schema, "permissions": ["read_local"], "function": "f",
        "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False}}


def test_what_is_left_out(runner: Runner) -> None:
    tool = runner.inspect("@edge_tool" + TAIL).tools["f"]
    assert (tool["execution_level"], tool["return_direct"], tool["output_schema"], tool["permissions"], tool["intent_tags"]) == ("read", False, None, [], [])


@pytest.mark.parametrize(("docstring", "want"), [
    ("'One line.'", "One line."), ("'''First.\n\n    More.'''", "First."), ("'''\n    \n\n    Third line.  \n    More.'''", "Third line."),
    ("'''First.\\r\\n\\r\\nMore.'''", "First."), ("'''\\t日本語。\\n'''", "日本語。"), ("'''Sum.\n\n    Args:\n        x: no such parameter\n    '''", "Sum."),
])
def test_the_docstrings_first_line(runner: Runner, docstring: str, want: str) -> None:
    assert runner.inspect(f"@edge_tool\ndef f():\n    {docstring}\n").tools["f"]["description"] == want


@pytest.mark.parametrize("head", ["@edge_tool", "@edge_tool(description='')", "@edge_tool(description='  ')", "@edge_tool(description=None)"])
def test_a_missing_description_is_a_warning(runner: Runner, head: str) -> None:
    answer = runner.inspect(f"{head}\ndef f():\n    return 1\n")
    assert answer.tools["f"]["description"] == ""
    (warning,) = answer.json["warnings"]
    assert (warning["code"], warning["tool"], warning["parameter"]) == ("missing_description", "f", None)
    assert runner.path.read_text().splitlines()[warning["line"] - 1] == "def f():"


def test_a_docstring_that_is_no_text_is_reported(runner: Runner) -> None:
    assert runner.inspect("@edge_tool\ndef f():\n    'd'\nf.__doc__ = '\\ud800'\n").codes == ["invalid_tool_metadata"]
    assert runner.inspect("@edge_tool\ndef f():\n    ''\nf.__doc__ = 5\n").json["warnings"][0]["code"] == "missing_description"


def test_the_name_is_no_positional_argument(runner: Runner) -> None:
    answer = runner.inspect("@edge_tool('fee_quote')\ndef f():\n    'd'\n")
    assert answer.codes == ["invalid_tool_metadata"] and "name='fee_quote'" in answer.errors[0]["message"]


def test_an_unknown_argument_is_pythons_own_error(runner: Runner) -> None:
    answer = runner.inspect("@edge_tool(descripton='x')\ndef f():\n    'd'\n")
    assert answer.codes == ["tools_file_import_failed"] and "descripton" in answer.errors[0]["message"]
    assert runner.path.read_text().splitlines()[answer.errors[0]["line"] - 1].startswith("@edge_tool(descripton")
