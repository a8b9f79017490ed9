"""docs/function-tools.md names a test for every row that works, and each of them exists."""
from __future__ import annotations

import re
from pathlib import Path

from conftest import ROOT

REPOSITORY = ROOT.parents[1]
PAGE = (REPOSITORY / "docs" / "function-tools.md").read_text(encoding="utf-8")
FOLDER = Path(__file__).parent


def rows() -> list:
    tables = PAGE.split("\n## ")[1]
    cells = [line.strip("|").split(" | ") for line in tables.splitlines() if line.startswith("| ") and not line.startswith("| of the seed")]
    assert len(cells) > 50 and all(len(row) == 3 for row in cells), [row for row in cells if len(row) != 3]
    return cells


def test_every_row_has_a_test_or_says_that_it_does_not_work() -> None:
    for rule, where, proof in rows():
        assert "not yet" in where or "not edge's" in where or ": test" in proof.lower(), rule


def test_the_tests_exist() -> None:
    for _, _, proof in rows():
        exist(proof)


def exist(proof: str) -> None:
    for part in filter(None, proof.strip().split("; ")):
        where, names = part.split(": ")
        for name in names.split(", "):
            assert re.search(rf"^(async )?(def|func) {name}\(", source_of(where), re.MULTILINE), f"{where}: {name}"


def source_of(where: str) -> str:
    """The source of tests/agents/test_agents_WHERE.py and of the Go package WHERE's tests."""
    files = [*FOLDER.glob(f"test_agents_{where.replace('/', '_')}.py"), *sorted((REPOSITORY / where).glob("*_test.go"))]
    assert files, f"no tests of {where}"
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_the_tests_of_hosted_tools_exist() -> None:
    table = PAGE.split("\n### What is tested\n")[1].split("\n## ")[0]
    for line in filter(lambda line: line.startswith("| ") and not line.startswith("| rule"), table.splitlines()):
        exist(line.strip("|").split(" | ")[1])
