"""docs/function-tools.md names a test for every row that works, and each of them exists."""
from __future__ import annotations

import re
from pathlib import Path

from conftest import ROOT

PAGE = (ROOT.parents[1] / "docs" / "function-tools.md").read_text(encoding="utf-8")
FOLDER = Path(__file__).parent


def rows() -> list:
    tables = PAGE.split("\n## ")[1]
    cells = [line.strip("|").split(" | ") for line in tables.splitlines() if line.startswith("| ") and not line.startswith("| of the seed")]
    assert len(cells) > 50 and all(len(row) == 3 for row in cells), [row for row in cells if len(row) != 3]
    return cells


def test_every_row_has_a_test_or_says_that_it_does_not_work() -> None:
    for rule, where, proof in rows():
        assert ("not yet" in where or "not edge's" in where) if not proof.strip() else proof.strip().startswith(("schema:", "docstrings:", "strict:", "tools:", "embedded:")), rule


def test_the_tests_exist() -> None:
    for _, _, proof in rows():
        for part in filter(None, proof.strip().split("; ")):
            file, names = part.split(": ")
            source = (FOLDER / f"test_agents_{file}.py").read_text(encoding="utf-8")
            for name in names.split(", "):
                assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{file}: {name}"
