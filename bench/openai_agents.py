#!/usr/bin/env python3
"""Runs public tests of the PyPI package openai-agents against edgestudio.agents.

The source distributions are fetched by pip into EDGE_HOME/peers, or the system's folder for temporary files where
EDGE_HOME isn't set, and checked by digest. Their test files are read there, with the name "agents" leading to
edgestudio.agents, and nowhere copied into this repository. It takes pytest, jsonschema and the packages of
edge-studio[agents].

  openai_agents.py                    both releases: the newest, and the one of the seed's time
  openai_agents.py --release 0.24.0   one of them
  openai_agents.py --verbose          with each failure's own words

The exit status is 1 if a test failed that openai_agents_reasons.py doesn't explain, or if one that it explains passed.
"""

import argparse
import asyncio
import functools
import hashlib
import importlib
import inspect
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import types

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
RELEASES = {
    "0.24.0": "4b4b285f4fed81fdf1b4ac426a9101658d9cd29b4fb1aaeee18f639b77e704e3",
    "0.0.7": "470b3190b070b1a3790cbe62b200dd83d1339602592e90d341aa7bb1af85fa45",
}
FILES = ["test_function_schema.py", "test_doc_parsing.py", "test_strict_schema.py", "test_strict_schema_oneof.py",
         "test_function_tool_decorator.py", "test_function_tool.py"]


def home():
    return os.path.join(os.environ.get("EDGE_HOME") or os.path.join(tempfile.gettempdir(), "edge"), "peers")


def fetch(version):
    """The release's test files, in a folder of their own."""
    name = f"openai_agents-{version}"
    archive = os.path.join(home(), name + ".tar.gz")
    if not os.path.exists(archive):
        os.makedirs(home(), exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "openai-agents",
                        "--dest", home(), "openai-agents==" + version], check=True)
    with open(archive, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != RELEASES[version]:
        sys.exit(f"{archive}: got sha256 {found}, want {RELEASES[version]}")
    folder = os.path.join(home(), name, "tests")
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(archive) as tar:
        members = {member.name: member for member in tar.getmembers()}
        for file in FILES:
            if f"{name}/tests/{file}" in members:
                with open(os.path.join(folder, file), "wb") as out:
                    out.write(tar.extractfile(members[f"{name}/tests/{file}"]).read())
    return folder


class Absent:
    """Stands for what edgestudio.agents doesn't have: harmless while a test file is imported, a failure in a test."""

    testing = False

    def __init__(self, name):
        self.__dict__["name"] = name

    def __call__(self, *args, **kwargs):
        return self.used()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.used()

    def used(self):
        if Absent.testing:
            pytest.fail(f"{self.name} isn't part of edgestudio.agents", pytrace=False)
        return self


def shim():
    """Makes ``import agents`` lead to edgestudio.agents."""
    sys.path.insert(0, os.path.join(HERE, "..", "runner", "python"))
    ours = importlib.import_module("edgestudio.agents")

    @functools.wraps(ours.function_tool)
    def function_tool(*args, **kwargs):
        unknown = set(kwargs) - set(inspect.signature(ours.function_tool).parameters)
        if unknown and not Absent.testing:
            return Absent(f"function_tool({', '.join(sorted(unknown))})")
        return ours.function_tool(*args, **kwargs)

    def module(name, **names):
        made = types.ModuleType(name)
        made.__dict__.update(names, __getattr__=lambda attribute: Absent(attribute) if not attribute.startswith("__") else None)
        return made

    agents = module("agents", **{name: getattr(ours, name) for name in ours.__all__})
    agents.function_tool, agents.__path__ = function_tool, []
    parts = {name: importlib.import_module("edgestudio.agents." + name)
             for name in ("_debug", "exceptions", "function_schema", "run_context", "strict_schema", "tool")}
    parts["tool_context"] = module("agents.tool_context", ToolContext=ours.ToolContext)
    parts["decorators"] = module("agents.decorators", tool=function_tool)
    parts["testing"] = module("agents.testing")
    parts["agent_output"] = module("agents.agent_output")
    sys.modules["agents"] = agents
    for name, part in parts.items():
        setattr(agents, name, part)
        sys.modules["agents." + name] = part
    if importlib.util.find_spec("inline_snapshot") is None:
        sys.modules["inline_snapshot"] = types.SimpleNamespace(snapshot=lambda value: value)


class Results:
    """The pytest plugin: runs async tests, and keeps what became of each."""

    def __init__(self):
        self.outcomes = {}

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "asyncio: an async test")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        Absent.testing = True
        try:
            if not inspect.iscoroutinefunction(pyfuncitem.obj):
                return None
            names = pyfuncitem._fixtureinfo.argnames
            asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
            return True
        finally:
            if inspect.iscoroutinefunction(pyfuncitem.obj):
                Absent.testing = False

    def pytest_runtest_teardown(self):
        Absent.testing = False

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[report.nodeid] = ("failed", str(report.longrepr))

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rsplit("/", 1)[-1]
        if report.failed:
            words = report.longrepr.reprcrash.message if hasattr(report.longrepr, "reprcrash") else str(report.longrepr)
            self.outcomes[name] = ("failed", words)
        elif report.skipped:
            self.outcomes[name] = ("skipped", report.longrepr[2])
        elif report.when == "call":
            self.outcomes[name] = ("passed", "")


def run(version):
    """{test: (outcome, its own words)}"""
    folder = fetch(version)
    shim()
    results = Results()
    options = ["-q", "--noconftest", "-c", os.devnull, "--rootdir", folder, "-p", "no:cacheprovider"]
    pytest.main(options + [os.path.join(folder, file) for file in FILES if os.path.exists(os.path.join(folder, file))], plugins=[results])
    return results.outcomes


def report(version, outcomes, verbose):
    """Prints a release's results; gives whether all is as explained."""
    from openai_agents_reasons import REASONS
    reasons = dict(REASONS[version])
    print(f"\nopenai-agents {version}")
    for file in FILES:
        of = [outcome for name, (outcome, _) in outcomes.items() if name.startswith(file + "::")]
        if of:
            skipped = f", {of.count('skipped')} not for this Python" if "skipped" in of else ""
            print(f"  {file}: {of.count('passed')} of {len(of) - of.count('skipped')} pass{skipped}")
    good, used = True, set()
    grouped = {}
    for name, (outcome, words) in outcomes.items():
        if outcome != "failed":
            continue
        key = next((key for key in (name, name.split("[")[0]) if key in reasons), None)
        used.add(key)
        grouped.setdefault(reasons.get(key), []).append((name, words))
    for reason, tests in grouped.items():
        good = good and reason is not None
        print(f"\n  {len(tests)}: {reason or 'NOT EXPLAINED'}")
        for name, words in tests:
            print(f"    {name}" + (f"\n      {' '.join(words.split())[:300]}" if verbose or reason is None else ""))
    for key in set(reasons) - used:
        good = False
        print(f"  explained, yet it passes or isn't there: {key}")
    all_of = [outcome for outcome, _ in outcomes.values()]
    print(f"\n  {all_of.count('passed')} of {len(all_of) - all_of.count('skipped')} pass; {all_of.count('failed')} fail")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", choices=list(RELEASES))
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--outcomes", metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.outcomes:
        with open(given.outcomes, "w", encoding="utf-8") as file:
            json.dump(run(given.release), file)
        return 0
    good = True
    for version in [given.release] if given.release else list(RELEASES):
        with tempfile.TemporaryDirectory() as folder:  # a process for each release: their test modules have the same names
            path = os.path.join(folder, "outcomes.json")
            subprocess.run([sys.executable, os.path.abspath(__file__), "--release", version, "--outcomes", path], check=True, stdout=subprocess.DEVNULL)
            with open(path, encoding="utf-8") as file:
                good = report(version, json.load(file), given.verbose) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
