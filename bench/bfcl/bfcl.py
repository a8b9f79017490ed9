#!/usr/bin/env python3
"""Runs edge on the data of the Berkeley Function-Calling Leaderboard, and its own checker over edge's calls.

The package bfcl-eval (Apache-2.0) is installed by pip, without what it depends on, into a virtual environment of its own
under EDGE_HOME/bfcl, or in the system's folder for temporary files where EDGE_HOME isn't set. Its data is read there
and nowhere copied into this repository. docs/bfcl.md says what comes out.

  bfcl.py                     everything: install, read, schemas and ground truth, calls, score
  bfcl.py --steps schemas     schemas and ground truth only: no model, seconds
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import types
import venv

PACKAGE = "bfcl-eval==2026.3.23"
# How many requests of each category, from its beginning, the model is asked: as many as some minutes of one core allow.
CATEGORIES = {"simple_python": 30, "multiple": 100, "irrelevance": 40, "live_multiple": 50}
# In this category they are those whose functions at least so many requests share, so that one can be learned from others.
SHARED = {"live_multiple": 8}
MODEL_NAME = "edge"


def install(folder):
    """The package in its own environment; gives the environment's interpreter."""
    env = os.path.join(folder, "venv")
    python = os.path.join(env, "Scripts", "python.exe") if os.name == "nt" else os.path.join(env, "bin", "python")
    marker = os.path.join(env, PACKAGE + ".installed")
    if not os.path.exists(marker):
        venv.create(env, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", PACKAGE], check=True)
        open(marker, "w").close()
    return python


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def write(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    os.replace(path + ".new", path)


def extract(folder):
    """One line per request: id, system text, request, functions as they stand, ground truth as it stands."""
    import importlib.util

    root = os.path.join(importlib.util.find_spec("bfcl_eval").submodule_search_locations[0], "data")
    for category in CATEGORIES:
        name = f"BFCL_v4_{category}.json"
        truths = {}
        answers = os.path.join(root, "possible_answer", name)
        if os.path.exists(answers):
            truths = {row["id"]: row["ground_truth"] for row in lines(answers)}
        rows = []
        for row in lines(os.path.join(root, name)):
            (turn,) = row["question"]
            said = {"system": [], "user": []}
            for message in turn:
                said[message["role"]].append(message["content"])
            (request,) = said["user"]
            rows.append({
                "id": row["id"], "system": "\n\n".join(said["system"]), "request": request,
                "functions": row["function"], "truth": truths.get(row["id"]),
            })
        write(os.path.join(folder, "data", category + ".jsonl"), rows)


def checker():
    """The package's ast_checker, itself unchanged.

    It reads one switch from a table of all models, whose import would bring every vendor's client library: whether the
    model writes "_" for "." in names of functions, as edge and those of several vendors do. That table is stood in for.
    """
    table = types.ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = {MODEL_NAME: types.SimpleNamespace(underscore_to_dot=True)}
    sys.modules[table.__name__] = table
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    def check(row, call, category):
        output = [{call["tool_name"]: call["arguments"]}] if call else []
        return ast_checker(row["functions"], output, row["truth"], Language.PYTHON, category, MODEL_NAME)

    return check


def judge(check, row, call, category):
    """Whether a call is right, and whether it is at least of the right function."""
    if row["truth"] is None:  # the leaderboard's rule for irrelevance: no call
        return {"tool": call is None, "call": call is None, "error": None if call is None else "irrelevance_error"}
    (wanted,) = row["truth"][0]
    if call is None:
        return {"tool": False, "call": False, "error": "no call"}
    outcome = check(row, call, category)
    error = None if outcome["valid"] else outcome["error_type"]
    return {"tool": call["tool_name"] == wanted.replace(".", "_"), "call": outcome["valid"], "error": error}


def judge_choices(row, choices, verdict):
    """A choice is as good as the call that was written for the function it names, and wrong where that is another one."""
    (wanted,) = row["truth"][0]
    for way in ("model", "states", "centred", "words"):
        right = choices.get(way) == wanted.replace(".", "_")
        for values, arm in (("free", "function given"), ("from request", "function given, from request")):
            verdict[f"chosen by {way}, values {values}"] = {"tool": right, "call": right and verdict[arm]["call"]}


def score(folder):
    """Judges every call that the Go program wrote: first those of the ground truth, then the model's."""
    check = checker()

    def each(kind):
        for category in CATEGORIES:
            path = os.path.join(folder, kind, category + ".jsonl")
            if os.path.exists(path):
                rows = {row["id"]: row for row in lines(os.path.join(folder, "data", category + ".jsonl"))}
                yield category, [(rows[got["id"]], got) for got in lines(path)]

    for category, pairs in each("truth"):
        verdicts = [judge(check, row, call, category)["call"] for row, got in pairs for call in got["calls"].values()]
        if verdicts:
            print(f"{category}: the package's checker takes {sum(verdicts)} of {len(verdicts)} calls of the ground truth")

    table = []
    for category, pairs in each("calls"):
        judged = []
        for row, got in pairs:
            verdict = {arm: judge(check, row, call, category) for arm, call in got.get("calls", {}).items()}
            if got.get("choices"):
                judge_choices(row, got["choices"], verdict)
            judged.append({"id": row["id"], "refused": got.get("refused"), "verdict": verdict})
        write(os.path.join(folder, "scores", category + ".jsonl"), judged)
        refused = sum(1 for j in judged if j["refused"])
        for arm in dict.fromkeys(arm for j in judged for arm in j["verdict"]):
            verdicts = [j["verdict"][arm] for j in judged if arm in j["verdict"]]
            # A request whose functions edge refuses has no verdict, and counts as wrong.
            table.append({
                "category": category, "arm": arm, "n": len(verdicts) + refused, "refused": refused,
                "tool": sum(v["tool"] for v in verdicts), "call": sum(v["call"] for v in verdicts),
            })
    print(f"{'category':<14} {'arm':<38} {'N':>4} {'refused':>8} {'function':>9} {'call':>5}")
    for t in table:
        print(f"{t['category']:<14} {t['arm']:<38} {t['n']:>4} {t['refused']:>8} {t['tool']:>9} {t['call']:>5}")
    with open(os.path.join(folder, "scores.json"), "w", encoding="utf-8") as f:
        json.dump(table, f, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", default="install,extract,schemas,calls,score", help="which steps, separated by commas")
    parser.add_argument("--go", default=os.environ.get("GO", "go"))
    parser.add_argument("--model", default="", help="passed on; the default model otherwise")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", choices=sorted(CATEGORIES), help="ask the model about this category only")
    parser.add_argument("--first", type=int, help="how many of each category, instead of: " + str(CATEGORIES))
    options = parser.parse_args()
    home = os.environ.get("EDGE_HOME")
    folder = os.path.join(home, "bfcl") if home else os.path.join(tempfile.gettempdir(), "edge-bfcl")
    os.makedirs(folder, exist_ok=True)
    repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    steps = options.steps.split(",")
    model = ["-model", options.model] if options.model else []
    if "install" in steps:
        install(folder)

    def in_environment(step):
        subprocess.run([install(folder), os.path.abspath(__file__), "--inside", step, folder], check=True)

    def program(*arguments):
        subprocess.run([options.go, "run", "./bench/bfcl", *arguments], cwd=repository, check=True)

    if "extract" in steps:
        in_environment("extract")
    if "schemas" in steps:
        program("schemas", "-dir", folder)
    if "calls" in steps:
        for category, n in CATEGORIES.items():
            if options.only in (None, category):
                program("calls", "-dir", folder, "-category", category, "-n", str(options.first or n),
                        "-shared", str(SHARED.get(category, 0)), "-threads", options.threads, *model)
    if "score" in steps:
        in_environment("score")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        {"extract": extract, "score": score}[sys.argv[2]](sys.argv[3])
    else:
        main()
