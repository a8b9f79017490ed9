"""The programs that are compared. Each has prepare(), run() for one start to the first token and the calls after it.

run() gives {"first_ms", "restore_ms", "restored", "decoded", "calls": [{"ms", "drawn", "forced", "valid", "right"}]}: from the
start of the program to its first token; what the restore took by the program's own words; how many tokens it said that it
restored, and how many it then decoded for the question; and each request for a tool until its call was parsed and checked.
"""
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time


def now():
    return time.perf_counter() * 1000


def check(text, request, schema):
    """Whether a reply is a valid call, and the one that was meant."""
    try:
        reply = json.loads(text)
    except ValueError:
        return {"valid": False, "right": False}
    if not isinstance(reply, dict) or sorted(reply) != ["arguments", "tool_name"]:
        return {"valid": False, "right": False}
    tools = {o["properties"]["tool_name"]["const"]: o["properties"]["arguments"] for o in schema["oneOf"]}
    tool, arguments = tools.get(reply["tool_name"]), reply["arguments"]
    valid = (
        tool is not None and isinstance(arguments, dict) and all(k in arguments for k in tool.get("required", []))
        and all(k in tool["properties"] for k in arguments)
    )
    defaults = {k: p["default"] for k, p in tool["properties"].items() if "default" in p} if valid else {}
    return {"valid": valid, "right": valid and reply["tool_name"] == request["tool_name"] and {**defaults, **arguments} == {**defaults, **request["arguments"]}}


class Edge:
    """edge demo chat with the imprint, verified. The calls are those of edge bench --work, which measures them in process."""

    name, verifies = "edge", True

    def __init__(self, program, work, folder):
        self.program, self.work, self.folder = program, work, folder

    def prepare(self):
        pass

    def json(self, *args):
        """What edge prints, and when it was here: ending takes a while longer, as it does for a server, which isn't ended."""
        with tempfile.TemporaryFile() as notes, subprocess.Popen([self.program, *args, "--json"], stdout=subprocess.PIPE, stderr=notes) as process:
            line = process.stdout.readline()
            arrived = now()
            if process.wait():
                notes.seek(0)
                raise RuntimeError(f"edge {' '.join(args)}: {line.decode()}{notes.read().decode()}")
        return json.loads(line), arrived

    def run(self):
        tools = ["--tools", self.work["tools_file"]] if self.work["tools_file"] else []
        start = now()
        chat, arrived = self.json(
            "demo", "chat", "--model", self.work["model"], "--threads", str(self.work["threads"]), "--with-imprint", self.work["imprint"],
            "--prompt", self.work["question"], "--max-tokens", "1", *tools,
        )
        out = {
            "first_ms": arrived - start, "own_first_ms": chat["timings"]["ttft_ms"], "restore_ms": chat["imprint"]["waited_ms"] + chat["imprint"]["restore_ms"],
            "restored": chat["usage"]["cached_tokens"], "decoded": chat["usage"]["prefilled_tokens"], "calls": [],
        }
        if self.work["requests"]:
            c, _ = self.json(
                "bench", "--work", self.folder, "--model", self.work["model"], "--threads", str(self.work["threads"]), "--runs", "1",
            )
            n = c["requests"]
            out["calls"] = [
                {"ms": e["ms"], "drawn": e["drawn"], "forced": e["forced"], "valid": e["valid"], "right": e["right"]} for e in c["each"]
            ]
            assert len(out["calls"]) == n
        return out


class Server:
    """A server of one's own on a free port."""

    ready = "/health"

    def __init__(self, work, folder):
        self.work, self.folder = work, folder
        self.process = self.port = None

    def start(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.log = open(os.path.join(self.folder, self.name + ".log"), "ab")
        self.process = subprocess.Popen(self.command(), env=self.environment(), stdout=self.log, stderr=self.log)
        end = now() + 120_000
        while now() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.last_words()}")
            try:
                if self.request("GET", self.ready)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.002)
        raise RuntimeError(f"{self.name} didn't get ready")

    def environment(self):
        return None

    def last_words(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()[-300:].strip()

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.log.close()
            self.process = None

    def request(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            c.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
            r = c.getresponse()
            raw = r.read()
            return r.status, json.loads(raw) if raw[:1] in (b"{", b"[") else raw.decode()
        finally:
            c.close()

    def post(self, path, body):
        status, answer = self.request("POST", path, body)
        if status != 200:
            raise RuntimeError(f"{self.name} {path}: {status}: {answer}")
        return answer


class LlamaServer(Server):
    """llama-server, restarted; the slot restored from its file."""

    name, verifies = "llama-server", False

    def __init__(self, built, work, folder):
        super().__init__(work, folder)
        self.built = built

    def command(self):
        threads = str(self.work["threads"])
        return [
            self.built.server, "-m", self.work["model"], "-c", str(self.work["context_tokens"]), "-t", threads, "-tb", threads, "-b", "512", "-ub", "512",
            "-fa", "on", "-np", "1", "--fit", "off", "--no-warmup", "--cache-ram", "0", "--slot-save-path", self.folder, "--host", "127.0.0.1", "--port", str(self.port),
        ]

    def complete(self, tokens, **options):
        return self.post("/completion", {"prompt": tokens, "temperature": 0, "cache_prompt": True, "id_slot": 0, **options})

    def restore(self):
        return self.post("/slots/0?action=restore", {"filename": "prefix.bin"})

    def prepare(self):
        """Decodes the prefix and saves the slot."""
        self.start()
        try:
            self.complete(self.work["prefix"], n_predict=0)
            self.post("/slots/0?action=save", {"filename": "prefix.bin"})
        finally:
            self.stop()

    def run(self):
        start = now()
        self.start()
        try:
            ready = now()
            said = self.restore()
            restored = now()
            answer = self.complete(self.work["prefix"] + self.work["suffix"], n_predict=1)
            out = {
                "first_ms": now() - start, "start_ms": ready - start, "restore_ms": restored - ready, "restored": said["n_restored"],
                "decoded": answer["timings"]["prompt_n"], "calls": [],
            }
            for request in self.work["requests"]:
                self.restore()
                start = now()
                answer = self.complete(self.work["prefix"] + request["suffix"], n_predict=128, json_schema=self.work["json_schema"])
                verdict = check(answer["content"], request, self.work["json_schema"])
                out["calls"].append({"ms": now() - start, "drawn": answer["timings"]["predicted_n"], "forced": 0, **verdict})
            return out
        finally:
            self.stop()


class LlamaCppPython:
    """llama-cpp-python in a new interpreter, its state from a pickle."""

    name, verifies = "llama-cpp-python", False

    def __init__(self, built, work, folder):
        self.built, self.work, self.folder = built, work, folder
        self.state = os.path.join(folder, "state.pickle")

    def child(self, mode):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([self.built.source, self.built.python]), "LLAMA_CPP_LIB_PATH": self.built.bin}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_cpp_python.py")
        return subprocess.Popen(
            [sys.executable, script, mode, os.path.join(self.folder, "work.json"), self.state], env=env, stdout=subprocess.PIPE, text=True,
        )

    def prepare(self):
        p = self.child("save")
        p.communicate()
        if p.returncode:
            raise RuntimeError(f"llama-cpp-python: saving ended with {p.returncode}")

    def run(self):
        start = now()
        p = self.child("run")
        first = p.stdout.readline()
        arrived = now()
        rest = p.stdout.readlines()
        if p.wait() or not first:
            raise RuntimeError(f"llama-cpp-python ended with {p.returncode}")
        said = json.loads(first)
        out = {"first_ms": arrived - start, "restore_ms": said["restore_ms"], "restored": said["restored"], "decoded": said["decoded"], "calls": []}
        for request, line in zip(self.work["requests"], rest):
            c = json.loads(line)
            out["calls"].append({"ms": c["call_ms"], "drawn": c["drawn"], "forced": 0, **check(c["text"], request, self.work["json_schema"])})
        return out


class Ollama(Server):
    """The ollama on the PATH, with a server and a folder of models of its own. It keeps no state over a restart: what it has
    is a warm model, whose cache the calls find."""

    name, verifies, ready = "ollama", False, "/api/version"

    def __init__(self, program, work, folder):
        super().__init__(work, folder)
        self.program = program

    def command(self):
        return [self.program, "serve"]

    def environment(self):
        return {**os.environ, "OLLAMA_HOST": f"127.0.0.1:{self.port}", "OLLAMA_MODELS": os.path.join(self.folder, "ollama")}

    def prepare(self):
        """Imports the model file."""
        modelfile = os.path.join(self.folder, "Modelfile")
        with open(modelfile, "w", encoding="utf-8") as f:
            f.write(f"FROM {self.work['model']}\n")
        self.start()
        try:
            done = subprocess.run([self.program, "create", "edge-bench", "-f", modelfile], env=self.environment(), capture_output=True, check=False)
            if done.returncode:
                raise RuntimeError(f"ollama create: {done.stderr.decode()[-300:]}")
        finally:
            self.stop()

    def chat(self, prompt, predict, **more):
        options = {"temperature": 0, "num_predict": predict, "num_thread": self.work["threads"], "num_ctx": self.work["context_tokens"]}
        messages = [*self.work["messages"], {"role": "user", "content": prompt}]
        return self.post("/api/chat", {"model": "edge-bench", "messages": messages, "stream": False, "options": options, **more})

    def run(self):
        start = now()
        self.start()
        try:
            answer = self.chat(self.work["question"], 1)
            out = {"first_ms": now() - start, "restore_ms": None, "restored": 0, "decoded": answer["prompt_eval_count"], "calls": []}
            for request in self.work["requests"]:
                self.chat(self.work["question"], 1)  # so that what comes next finds the prefix and nothing of itself
                start = now()
                answer = self.chat(request["prompt"], 128, format=self.work["json_schema"])
                verdict = check(answer["message"]["content"], request, self.work["json_schema"])
                out["calls"].append({"ms": now() - start, "drawn": answer["eval_count"], "forced": 0, **verdict})
            return out
        finally:
            self.stop()
