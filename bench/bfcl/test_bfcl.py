"""bfcl.py against a package of the same shape as bfcl-eval, made up here: the real one is installed by `make bfcl` only."""

import json
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bfcl

CHECKER = '''
from bfcl_eval.constants.model_config import MODEL_CONFIG_MAPPING

def ast_checker(functions, output, possible, language, category, model):
    assert language == "py" and MODEL_CONFIG_MAPPING[model].underscore_to_dot
    (name, allowed), = possible[0].items()
    (got, arguments), = output[0].items()
    if got != name.replace(".", "_"):
        return {"valid": False, "error_type": "wrong_func_name"}
    right = all(arguments.get(k, "") in v for k, v in allowed.items())
    return {"valid": right} if right else {"valid": False, "error_type": "value_error"}
'''


def row(n, request, truth):
    data = {"id": f"multiple_{n}", "question": [request], "function": [{"name": "a.f", "description": "d", "parameters": {}}]}
    return data, {"id": f"multiple_{n}", "ground_truth": truth}


@pytest.fixture
def package(tmp_path, monkeypatch):
    root = tmp_path / "site" / "bfcl_eval"
    for folder in ("data/possible_answer", "constants", "eval_checker/ast_eval"):
        (root / folder).mkdir(parents=True)
    for folder in ("", "constants", "eval_checker", "eval_checker/ast_eval"):
        (root / folder / "__init__.py").write_text("")
    (root / "constants/enums.py").write_text("class Language:\n    PYTHON = 'py'\n")
    (root / "eval_checker/ast_eval/ast_checker.py").write_text(CHECKER)
    pairs = [
        row(0, [{"role": "user", "content": "one"}], [{"a.f": {"x": [1, 2]}}]),
        row(1, [{"role": "system", "content": "be brief"}, {"role": "user", "content": "two"}], [{"a.f": {"x": ["", 3]}}]),
        row(2, [{"role": "user", "content": "three"}], [{"a.f": {"x": [4]}}]),
    ]
    for category in bfcl.CATEGORIES:
        name = f"BFCL_v4_{category}.json"
        (root / "data" / name).write_text("".join(json.dumps(d) + "\n" for d, _ in pairs))
        if category != "irrelevance":
            (root / "data/possible_answer" / name).write_text("".join(json.dumps(a) + "\n" for _, a in reversed(pairs)))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield str(tmp_path / "out")
    for name in [n for n in sys.modules if n.split(".")[0] == "bfcl_eval"]:
        del sys.modules[name]


def test_extract(package):
    bfcl.extract(package)
    rows = bfcl.lines(os.path.join(package, "data", "multiple.jsonl"))
    assert [(r["id"], r["system"], r["request"], r["truth"][0]["a.f"]["x"]) for r in rows] == [
        ("multiple_0", "", "one", [1, 2]), ("multiple_1", "be brief", "two", ["", 3]), ("multiple_2", "", "three", [4]),
    ]
    assert rows[0]["functions"] == [{"name": "a.f", "description": "d", "parameters": {}}]
    assert all(r["truth"] is None for r in bfcl.lines(os.path.join(package, "data", "irrelevance.jsonl")))


def call(name, **arguments):
    return {"tool_name": name, "arguments": arguments}


def test_score(package, capsys):
    bfcl.extract(package)
    bfcl.write(os.path.join(package, "truth", "multiple.jsonl"), [{"id": "multiple_0", "calls": {"0": call("a_f", x=1), "1": call("a_f", x="1")}}])
    given = "function given", "function given, from request"
    bfcl.write(os.path.join(package, "calls", "multiple.jsonl"), [
        {"id": "multiple_0", "calls": {"nothing learned": None, given[0]: call("a_f", x=2), given[1]: call("a_f", x=9)},
         "choices": {"model": "a_g", "states": "a_f", "centred": "a_g", "words": "a_f"}},
        {"id": "multiple_1", "calls": {"nothing learned": call("a_g"), given[0]: call("a_f", x=9), given[1]: call("a_f")},
         "choices": {"states": "a_g", "centred": "a_f"}},
        {"id": "multiple_2", "refused": "too many"},
    ])
    bfcl.write(os.path.join(package, "calls", "irrelevance.jsonl"), [
        {"id": "multiple_0", "calls": {"nothing learned": None}}, {"id": "multiple_1", "calls": {"nothing learned": call("a_f")}},
    ])
    bfcl.score(package)
    with open(os.path.join(package, "scores.json"), encoding="utf-8") as f:
        got = {(t["category"], t["arm"]): (t["n"], t["refused"], t["tool"], t["call"]) for t in json.load(f)}
    assert got == {
        ("multiple", "nothing learned"): (3, 1, 0, 0),
        ("multiple", given[0]): (3, 1, 2, 1),
        ("multiple", given[1]): (3, 1, 2, 1),
        ("multiple", "chosen by model, values free"): (3, 1, 0, 0),
        ("multiple", "chosen by model, values from request"): (3, 1, 0, 0),
        ("multiple", "chosen by states, values free"): (3, 1, 1, 1),
        ("multiple", "chosen by states, values from request"): (3, 1, 1, 0),
        ("multiple", "chosen by centred, values free"): (3, 1, 1, 0),
        ("multiple", "chosen by centred, values from request"): (3, 1, 1, 1),
        ("multiple", "chosen by words, values free"): (3, 1, 1, 1),
        ("multiple", "chosen by words, values from request"): (3, 1, 1, 0),
        ("irrelevance", "nothing learned"): (2, 0, 1, 1),
    }
    assert "takes 1 of 2 calls" in capsys.readouterr().out
    verdicts = bfcl.lines(os.path.join(package, "scores", "multiple.jsonl"))
    assert [v["verdict"].get("nothing learned", {}).get("error") for v in verdicts] == ["no call", "wrong_func_name", None]
