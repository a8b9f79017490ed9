"""The household example, learned and chatted on the embedded engine, on Ollama and on llama-server: one table.

    python3 bench/served/served.py [--edge bin/edge] [--write] [--record]

--write puts the table into docs/backends.md. --record also writes what was said to testdata/served, for the tests. The first
run builds both servers into EDGE_HOME/peers: half an hour of two idle cores. Servers are started on ports of their own, one
at a time, and ended; Ollama gets a folder of models of its own.
"""
import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "bench", "peers")]

import build  # noqa: E402
import ollama  # noqa: E402
import record  # noqa: E402

PROMPTS = [  # the first reads the prefix; the others find what the server still holds
    "Hello there!", "What's the weather like in Vienna?", "Add 17 and 25", "How many days from 2024-02-01 to 2024-03-01?",
    "Show me what is in plans.md", "Say good night in Italian", "Who are you?", "Thanks, that's all.",
]
MODEL = "smollm2-135m"
CONTEXT = 8192
BEGIN, END = "<!-- made by make e2e-served -->", "<!-- end -->"


def home():
    if os.environ.get("EDGE_HOME"):
        return os.environ["EDGE_HOME"]
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "edge")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A server that is ended with the block."""

    def __init__(self, command, env, url, log):
        self.command, self.env, self.url, self.log = command, env, url, log

    def __enter__(self):
        self.out = open(self.log, "ab")
        self.process = subprocess.Popen(self.command, env=self.env, stdout=self.out, stderr=self.out, start_new_session=True)
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.command[0]} ended; see {self.log}")
            try:
                urllib.request.urlopen(self.url).close()
                return self
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise SystemExit(f"{self.command[0]} doesn't answer; see {self.log}")

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()
        self.out.close()


class Edge:
    """edge with one model, in a folder of its own for imprints and receipts."""

    def __init__(self, program, folder, tools, model, env=None, more=()):
        self.program, self.tools, self.model, self.more = program, tools, model, list(more)
        self.env = dict(os.environ, EDGE_HOME=folder, EDGE_SERVE="off", **(env or {}))

    def run(self, *args, group="demo"):
        done = subprocess.run([self.program, "--json", group, *args, "--model", self.model, "--tools", self.tools, *self.more],
                              env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"edge {' '.join(args)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def learn(self, sample):
        return self.run("learn", "run", "--sample-file", sample)

    def chat(self, learned):
        return [self.run("chat", "--with-imprint", learned["artifact_path"], "--prompt", p) for p in PROMPTS]


    def load(self, learned, clients):
        return self.run("served", "--with-imprint", learned["artifact_path"], "--clients", str(clients), "--requests", "24", group="bench")["load"]


LOAD = ["server", "requests at once", "requests", "prompt tokens held", "first token: median, 95th percentile", "first request, alone", "requests/s"]


def load_row(name, r):
    held = "not said" if r["hit_rate"] is None else f"{100 * r['hit_rate']:.1f} %"
    first = r["first_token_ms"]
    return [name, str(r["clients"]), str(r["requests"]), held, f"{first['median']:.0f} ms, {first['p95']:.0f} ms", f"{r['cold_first_token_ms']:.0f} ms",
            f"{r['requests_per_second']:.2f}"]


def calls(chats):
    return [[{"tool_name": c["tool_name"], "arguments": c["arguments"]} for c in chat["tool_calls"]] for chat in chats]


def prepared(folder):
    """A folder for edge that has the engine and the models of the user's own."""
    os.makedirs(folder, exist_ok=True)
    for name in ("models", "runtime"):
        os.symlink(os.path.join(home(), name), os.path.join(folder, name))
    return folder


def llama_server(built, gguf, slots, threads, work, use):
    port = free_port()
    command = [built.server, "-m", gguf, "--alias", MODEL, "--host", "127.0.0.1", "--port", str(port), "-c", str(CONTEXT), "-np", "1",
               "-t", str(threads), "--slot-save-path", slots + os.sep]
    with Process(command, dict(os.environ), f"http://127.0.0.1:{port}/health", os.path.join(work, "llama-server.log")):
        return use(port)


def ollama_server(program, gguf, work, use):
    port = free_port()
    env = dict(os.environ, OLLAMA_HOST=f"127.0.0.1:{port}", OLLAMA_MODELS=os.path.join(work, "ollama"), HOME=work, OLLAMA_NUM_PARALLEL="1")
    with Process([program, "serve"], env, f"http://127.0.0.1:{port}/api/version", os.path.join(work, "ollama.log")):
        modelfile = os.path.join(work, "Modelfile")
        with open(modelfile, "w") as f:
            f.write(f"FROM {gguf}\nPARAMETER temperature 0\n")
        subprocess.run([program, "create", MODEL, "-f", modelfile], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return use(port)


def middle(values):
    return "–" if not values else "not said" if None in values else f"{statistics.median(values):.0f}"


def row(name, result, base):
    """One backend's line. A reply that edge ended isn't counted by every server, so only the others' counts are used."""
    chats = result["chats"]
    if any(c["server"] for c in chats):
        counted = [c["server"] for c in chats if c["server"] and c["server"]["requests"] and not c["server"]["unfinished"]]
        prompt, cached = [x["prompt_tokens"] for x in counted], [x["cached_tokens"] for x in counted]
    else:
        prompt, cached = [c["usage"]["prompt_tokens"] for c in chats], [c["usage"]["cached_tokens"] for c in chats]
    learned = result["learned"]["evaluation"]["learned"]
    same = sum(a == b for a, b in zip(calls(chats), base))
    words = [c["timings"]["ttft_ms"] for c in chats[1:] if not c["tool_calls"]]
    called = [c["timings"]["call_ms"] for c in chats if c["tool_calls"]]
    return [name, result["learned"]["kind"], f"{100 * learned['tool_choice']:.0f} % / {100 * learned['exact_call']:.0f} %", f"{same} of {len(PROMPTS)}",
            f"{chats[0]['timings']['ttft_ms']:.0f} ms", f"{middle(words)} ms", f"{middle(called)} ms", middle(prompt), middle(cached)]


HEAD = ["backend", "imprint", "held-out requests: tool / exact call", "same calls as embedded", "first token of the first chat", "of later words", "call",
        "prompt tokens", "of them cached"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def put(path, begin, text):
    with open(path) as f:
        page = f.read()
    before, rest = page.split(begin, 1)
    after = rest.split(END, 1)[1]
    with open(path, "w") as f:
        f.write(before + begin + "\n" + text + END + after)


def recorded(port, edge, sample_without_holdout):
    """Learns and chats through a recorder: the evaluation is left out, since it asks what the chats ask."""
    recorder = record.Recorder(port)
    try:
        e = edge(recorder.port)
        chats = e.chat(e.learn(sample_without_holdout))
    finally:
        recorder.close()
    return {"prompts": PROMPTS, "calls": calls(chats), "answers": [c["answer"] for c in chats], "exchanges": recorder.exchanges}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edge", default=os.path.join(ROOT, "bin", "edge"))
    parser.add_argument("--go", default="go")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    data = os.path.join(ROOT, "testdata", "served", "household")
    tools, sample = os.path.join(data, "tools.py"), os.path.join(data, "learn_sample.json")
    gguf = os.path.join(home(), "models", MODEL + ".gguf")
    peers = os.path.join(home(), "peers")
    built = build.build(peers)
    program = ollama.build(peers, os.path.join(built.source, "vendor", "llama.cpp"), args.go)
    with tempfile.TemporaryDirectory(prefix="edge-served-") as work:
        short = os.path.join(work, "short.json")
        with open(sample) as f, open(short, "w") as out:
            json.dump({k: v for k, v in json.load(f).items() if k != "holdout"}, out)
        slots = os.path.join(work, "slots")
        os.makedirs(slots)

        def edge(name, model, env=None, more=()):
            return Edge(args.edge, prepared(tempfile.mkdtemp(prefix=name, dir=work)), tools, model, env, more)

        def by_ollama(port):
            return edge("ollama", "ollama:" + MODEL, {"OLLAMA_HOST": f"127.0.0.1:{port}"})

        def by_llama(port, more=()):
            return edge("llama", f"openai:http://127.0.0.1:{port}#{MODEL}", more=more)

        def by_slot(port):
            return by_llama(port, ["--slot-dir", slots])

        def on_ollama(use):
            return ollama_server(program, gguf, work, use)

        def on_llama(use):
            return llama_server(built, gguf, slots, args.threads, work, use)

        def example(server, connect):
            """Learned with one process of a server, chatted with another, which holds nothing yet."""
            learned = server(lambda port: connect(port).learn(sample))
            return {"learned": learned, "chats": server(lambda port: connect(port).chat(learned))}

        embedded = edge("embedded", MODEL, more=["--threads", str(args.threads)])
        learned = embedded.learn(sample)
        results = {
            "embedded llama.cpp": {"learned": learned, "chats": embedded.chat(learned)},
            "Ollama " + ollama.VERSION[1:]: example(on_ollama, by_ollama),
            "llama-server": example(on_llama, by_llama),
            "llama-server, slot restored": example(on_llama, by_slot),
        }
        base = calls(results["embedded llama.cpp"]["chats"])
        text = table(HEAD, [row(name, r, base) for name, r in results.items()])
        print(text)
        for name, r in results.items():
            print(name, json.dumps(calls(r["chats"])), file=sys.stderr)
        if args.write:
            put(os.path.join(ROOT, "docs", "backends.md"), BEGIN, text)
        if args.record:
            for name, said in (
                ("ollama", on_ollama(lambda port: recorded(port, by_ollama, short))),
                ("llama-server", on_llama(lambda port: recorded(port, by_llama, short))),
            ):
                with open(os.path.join(ROOT, "testdata", "served", name + ".json"), "w") as f:
                    json.dump(said, f, indent=1, ensure_ascii=False)
                    f.write("\n")
        loads = table(LOAD, [
            load_row(name, server(lambda port, n=clients: connect(port).load(results[name]["learned"], n)))
            for name, server, connect in (("Ollama " + ollama.VERSION[1:], on_ollama, by_ollama), ("llama-server", on_llama, by_llama)) for clients in (1, 4)])
        print(loads)
        if args.write:
            put(os.path.join(ROOT, "docs", "scale.md"), BEGIN, loads)


if __name__ == "__main__":
    main()
