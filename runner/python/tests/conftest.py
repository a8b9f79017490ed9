"""Starts boot.py as edge does, and speaks edge.runner/v1 with it."""
from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SECRET = "5ec3e7" * 5 + "5e"
HEAD = "from typing import Annotated, Any, Literal, List, NewType, Optional, Union\nfrom edgestudio.tools import edge_tool\n\n"
BOOT = (ROOT / "boot.py").read_text(encoding="utf-8")
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "edgestudio").rglob("*.py"))
}


def frame(value: object) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return len(body).to_bytes(4, "big") + body


class Answer:
    def __init__(self, status: int, stdout: bytes, stderr: bytes) -> None:
        self.status, self.stdout, self.stderr = status, stdout, stderr.decode("utf-8", "replace")

    def frames(self) -> list:
        rest, found = self.stdout, []
        while rest:
            size = int.from_bytes(rest[:4], "big")
            assert len(rest) >= 4 + size, "a torn frame"
            found.append(json.loads(rest[4:4 + size]))
            rest = rest[4 + size:]
        return found

    @property
    def json(self) -> dict:
        frames = self.frames()
        assert len(frames) == 1, (self.status, frames, self.stderr)
        assert frames[0]["secret"] == SECRET and frames[0]["protocol"] == "edge.runner/v1"
        return frames[0]

    @property
    def result(self) -> object:
        assert self.json["ok"] is True, (self.json, self.stderr)
        return self.json["result"]

    @property
    def code(self) -> str:
        assert self.json["ok"] is False, self.json
        return self.json["error"]["code"]

    @property
    def errors(self) -> list:
        assert self.json["ok"] is True, (self.json, self.stderr)
        return self.json["errors"]

    @property
    def codes(self) -> list:
        return [error["code"] for error in self.errors]

    @property
    def tools(self) -> dict:
        assert self.errors == [], self.errors
        return {tool["name"]: tool for tool in self.json["tools"]}


class Runner:
    """A tools file in a folder of its own, and the requests that can be made of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "tools.py"
        self.cwd = folder.parent / (folder.name + "-cwd")
        self.cwd.mkdir()
        self.python = sys.executable

    def write(self, text: str, name: str = "tools.py", head: bool = True) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((HEAD if head and name == "tools.py" else "") + textwrap.dedent(text), encoding="utf-8")
        return path

    def send(self, *frames: object, python: str | None = None, env: dict | None = None, timeout: float = 60) -> Answer:
        done = subprocess.run(
            [python or self.python, "-I", "-S", "-B", "-c", BOOT], input=b"".join(map(frame, frames)), cwd=self.cwd,
            capture_output=True, timeout=timeout, env={"PATH": os.defpath, "HOME": str(self.cwd)} | (env or {}))
        return Answer(done.returncode, done.stdout, done.stderr)

    def ask(self, request: dict, **more: object) -> Answer:
        hello = {"protocol": "edge.runner/v1", "modules": MODULES}
        return self.send(hello, {"protocol": "edge.runner/v1", "secret": SECRET, "path": str(self.path)} | request, **more)

    def inspect(self, text: str | None = None, python: str | None = None, **request: object) -> Answer:
        if text is not None:
            self.write(text)
        return self.ask({"op": "inspect", "source_sha256": None} | request, python=python)

    def call(self, name: str = "f", arguments: dict | None = None, text: str | None = None, env: dict | None = None,
             python: str | None = None, **request: object) -> Answer:
        if text is not None:
            self.write(text)
        return self.ask({
            "op": "call", "source_sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "function": {"tool_name": name}, "arguments": arguments or {},
            "limits": {"result_bytes": 65536, "address_space_bytes": 1 << 31},
        } | request, env=env, python=python)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    folder = tmp_path / "project"
    folder.mkdir()
    return Runner(folder)
