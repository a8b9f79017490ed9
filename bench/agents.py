"""The example agents with and without their imprints: the same requests, in turn, each in a process of its own.

    python3 bench/agents.py [--edge bin/edge] [--model NAME] [--threads N] [--rounds N] [--json FILE]

Learns the agents of examples/agents into a store of its own. A time is from the start of the process to the whole answer,
loading the model left out, as edge reports both; a request's is the median of its rounds. "right" counts the answers that
hold what the example's data say. The ratios are of one run on one machine.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(HERE, "examples", "agents")
REQUESTS = {
    "How much butter is there?": "250 g", "What does an apple pie need?": "6 apples", "Is there any rice left?": "3 kg",
    "When is Leo's birthday?": "21 June", "Am I free on Saturday?": "lunch with Ana", "What is on monday?": "dentist",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edge", default=os.path.join(HERE, "bin", "edge"))
    parser.add_argument("--model")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write all figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        rows = measure(Edge(options, home), options.rounds)
    show(rows)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)


class Edge:
    """The program, with a store of its own beside the model and the engine that are there."""

    def __init__(self, options, home):
        self.program = os.path.abspath(options.edge)
        self.more = [*(["--model", options.model] if options.model else []), *(["--threads", str(options.threads)] if options.threads else [])]
        doctor = json.loads(subprocess.run([self.program, "doctor", "--json"], capture_output=True, check=False).stdout)
        real = os.path.dirname(os.path.dirname(doctor["engine"]["dir"]))
        for name in ("models", "runtime"):
            os.symlink(os.path.join(real, name), os.path.join(home, name))
        self.environ = {**os.environ, "EDGE_HOME": home}

    def run(self, *args):
        p = subprocess.run([self.program, "agent", *args, *self.more, "--json"], capture_output=True, check=False, stdin=subprocess.DEVNULL, env=self.environ)
        if p.returncode:
            sys.exit(f"{' '.join(args)}: exit {p.returncode}\n{p.stdout.decode()}{p.stderr.decode()}")
        return json.loads(p.stdout)


def measure(edge, rounds):
    file = os.path.join(FOLDER, "household.py")
    learned = edge.run("learn", file, "--samples", os.path.join(FOLDER, "samples"))
    print(f"learned {len(learned['agents'])} agents in {learned['total_ms'] / 1000:.1f} s with {learned['model']['name']}\n")
    ways = {"imprints": ["--with-imprints", learned["receipt_path"]], "without": []}
    times = {(way, prompt): [] for way in ways for prompt in REQUESTS}
    answers, called = {}, {}
    for _ in range(rounds):
        for prompt in REQUESTS:
            for way, args in ways.items():
                r = edge.run("run", file, "--prompt", prompt, *args)
                times[way, prompt].append(r["total_ms"] - r["load_ms"])
                answers[way, prompt], called[way, prompt] = r["final_output"], calls(r)
    return [{"request": prompt, **{way: {
        "ms": statistics.median(times[way, prompt]), "all_ms": times[way, prompt], "calls": called[way, prompt], "answer": answers[way, prompt], "right": REQUESTS[prompt] in answers[way, prompt],
    } for way in ways}} for prompt in REQUESTS]


def calls(run):
    """How many calls a run made, those of runs within it included."""
    made = [call for step in run["steps"] for call in step["tool_calls"]]
    return len(made) + sum(calls(call["run"]) for call in made if call.get("run"))


def show(rows):
    print("| request | with imprints | right | calls | without | right | calls | ratio |\n|---|---|---|---|---|---|---|---|")
    for r in rows:
        one, other = r["imprints"], r["without"]
        cells = [f"{way['ms']:.0f} ms | {'yes' if way['right'] else 'no'} | {way['calls']}" for way in (one, other)]
        print(f"| {r['request']} | {' | '.join(cells)} | {other['ms'] / one['ms']:.1f} |")
    ratios = [r["without"]["ms"] / r["imprints"]["ms"] for r in rows]
    print(f"\nmedian ratio {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}); right with imprints "
          f"{sum(r['imprints']['right'] for r in rows)} of {len(rows)}, without {sum(r['without']['right'] for r in rows)}")


if __name__ == "__main__":
    main()
