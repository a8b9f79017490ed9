"""The peers' parsing and tables, without a network, an engine or a build."""
import hashlib
import os
import sys
import tarfile

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build
import peers
import programs

SCHEMA = {"oneOf": [
    {"properties": {"tool_name": {"const": "read_meter"}, "arguments": {"properties": {"meter": {"type": "integer"}, "span": {"default": "day"}}, "required": ["meter"]}}},
    {"properties": {"tool_name": {"const": "plan_route"}, "arguments": {"properties": {"address": {"type": "string"}}, "required": ["address"]}}},
]}
REQUEST = {"tool_name": "read_meter", "arguments": {"meter": 7}}


@pytest.mark.parametrize("text, valid, right", [
    ('{"tool_name":"read_meter","arguments":{"meter":7}}', True, True),
    ('{"tool_name":"read_meter","arguments":{"meter":7,"span":"day"}}', True, True),  # the default said aloud
    ('{"tool_name":"read_meter","arguments":{"meter":8}}', True, False),
    ('{"tool_name":"plan_route","arguments":{"address":"x"}}', True, False),
    ('{"tool_name":"read_meter","arguments":{}}', False, False),
    ('{"tool_name":"read_meter","arguments":{"meter":7,"more":1}}', False, False),
    ('{"tool_name":"other","arguments":{"meter":7}}', False, False),
    ('{"tool_name":"read_meter"}', False, False),
    ("[]", False, False),
    ('{"tool_name":"read_meter","argu', False, False),
])
def test_check(text, valid, right):
    assert programs.check(text, REQUEST, SCHEMA) == {"valid": valid, "right": right}


def run_of(first, call, **more):
    return {"first_ms": first, "restore_ms": 2.0, "restored": 100, "decoded": 20, "calls": [{"ms": call, "drawn": 9, "forced": 0, "valid": True, "right": False}], **more}


def report():
    edge = peers.summarise("edge", True, [run_of(300, 100, own_first_ms=290), run_of(320, 110, own_first_ms=300), run_of(340, 90, own_first_ms=310)])
    server = peers.summarise("llama-server", False, [run_of(640, 400), run_of(600, 420), run_of(700, 380)])
    return {
        "model": "m", "prefix_tokens": 100, "suffix_tokens": 20, "threads": 1, "runs": 3, "machine": {"cores": 2, "load_before": 0.1, "load_after": 1.25},
        "programs": [edge, server], "left_out": {"Ollama": "not here"},
    }


def test_summary():
    edge, server = report()["programs"]
    assert edge["first_ms"] == {"median": 320, "min": 300, "max": 340, "runs": 3}
    assert edge["own_first_ms"]["median"] == 300 and server["own_first_ms"] is None
    assert (server["valid"], server["right"], server["requests"], server["call_tokens_drawn"]) == (1, 0, 1, 9)
    assert peers.compare(edge, server) == {"first_ms": 0.5, "restore_ms": 1.0, "call_ms": 0.25}


def test_table():
    lines = peers.table(report()).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4 and len({row.count("|") for row in rows}) == 1
    assert "| llama-server | 640 (600–700) | 0.5 |" in rows[3] and "| no |" in rows[3] and "| 0/1 |" in rows[3]
    assert "load 0.1 before and 1.2" in lines[0] and "Left out: Ollama: not here" in lines[-1]


class Program:
    verifies = False

    def __init__(self, name, log, fails=0):
        self.name, self.log, self.fails = name, log, fails

    def prepare(self):
        if self.fails == 1:
            raise RuntimeError("no start")

    def run(self):
        if self.fails == 2:
            raise RuntimeError("no answer")
        self.log.append(self.name)
        return run_of(1, 1)


def test_order_and_failures():
    log = []
    results, left_out = peers.measure([Program("a", log), Program("b", log), Program("c", log, fails=1), Program("d", log, fails=2)], 2, lambda text: None)
    assert log == ["a", "b", "b", "a"] and [len(results[k]) for k in "ab"] == [2, 2]
    assert left_out == {"c": "no start", "d": "no answer"} and set(results) == {"a", "b"}


def test_server_restores_before_it_asks(monkeypatch, tmp_path):
    server = programs.LlamaServer(build.Built("/peers"), {"model": "m.gguf", "threads": 2, "context_tokens": 512, "prefix": [1, 2], "suffix": [3], "requests": [{**REQUEST, "suffix": [4]}], "json_schema": SCHEMA}, str(tmp_path))
    asked = []

    def post(path, body):
        asked.append((path, body))
        if "restore" in path:
            return {"n_restored": 2}
        return {"content": '{"tool_name":"read_meter","arguments":{"meter":7}}', "timings": {"prompt_n": 3, "predicted_n": 11}}

    monkeypatch.setattr(server, "start", lambda: None)
    monkeypatch.setattr(server, "post", post)
    out = server.run()
    assert [path for path, _ in asked] == ["/slots/0?action=restore", "/completion", "/slots/0?action=restore", "/completion"]
    assert asked[1][1]["prompt"] == [1, 2, 3] and asked[3][1]["prompt"] == [1, 2, 4] and asked[3][1]["json_schema"] == SCHEMA
    assert (out["restored"], out["decoded"]) == (2, 3) and out["calls"][0]["drawn"] == 11 and out["calls"][0]["right"]
    assert server.command()[:3] == ["/peers/build/bin/llama-server", "-m", "m.gguf"] and "127.0.0.1" in server.command()


def test_ollama_is_warm_when_it_is_asked(monkeypatch, tmp_path):
    work = {"model": "m.gguf", "threads": 2, "context_tokens": 512, "messages": [{"role": "system", "content": "s"}], "question": "q", "requests": [{**REQUEST, "prompt": "meter 7"}], "json_schema": SCHEMA}
    ollama = programs.Ollama("ollama", work, str(tmp_path))
    asked = []

    def post(path, body):
        asked.append(body)
        return {"prompt_eval_count": 120, "eval_count": 12, "message": {"content": '{"tool_name":"read_meter","arguments":{"meter":7}}'}}

    monkeypatch.setattr(ollama, "start", lambda: None)
    monkeypatch.setattr(ollama, "post", post)
    out = ollama.run()
    assert [body["messages"][-1]["content"] for body in asked] == ["q", "q", "meter 7"] and asked[2]["format"] == SCHEMA and "format" not in asked[1]
    assert asked[0]["options"] == {"temperature": 0, "num_predict": 1, "num_thread": 2, "num_ctx": 512}
    assert (out["restore_ms"], out["restored"], out["decoded"]) == (None, 0, 120) and out["calls"][0]["right"]
    assert peers.summarise("ollama", False, [out])["restore_ms"] is None
    ollama.port = 7
    assert ollama.environment()["OLLAMA_HOST"] == "127.0.0.1:7"


def test_a_server_that_ends_says_why(tmp_path):
    class Broken(programs.Server):
        name = "broken"

        def command(self):
            return [sys.executable, "-c", "raise SystemExit('no model')"]

    server = Broken({}, str(tmp_path))
    with pytest.raises(RuntimeError, match="broken ended with 1: no model"):
        server.start()
    server.stop()


def test_checked(tmp_path):
    path = tmp_path / "x.tar.gz"
    (tmp_path / "x").mkdir()
    with tarfile.open(path, "w:gz") as tar:
        tar.add(tmp_path / "x", "x")
    assert build.checked(str(path), hashlib.sha256(path.read_bytes()).hexdigest()) == str(path)
    with pytest.raises(SystemExit, match="want 00"):
        build.checked(str(path), "00")
    build.unpack(str(path), str(tmp_path / "out"))
    assert os.path.isdir(tmp_path / "out" / "x")


def test_home(monkeypatch):
    monkeypatch.setenv("EDGE_HOME", "/somewhere")
    assert peers.home() == "/somewhere"
    monkeypatch.delenv("EDGE_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert peers.home() == os.path.join("/data", "edge")
