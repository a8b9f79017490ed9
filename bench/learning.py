"""What learning adds, set by set: the same model with and without it, on requests that it has not seen.

    python3 bench/learning.py [--edge bin/edge] [--model NAME] [--examples N] [--no-chat] [--json FILE] [SET ...]

A SET is a folder with tools.py and a sample file (sample.json or learn_sample.json) with a holdout; without any,
examples/ and every folder of testdata/learning/. Where a folder has a fresh.json, the imprint is tried on its requests
too. With --examples N only the first N examples of each tool, and N without one, are learned from; 0 leaves none. Shares
are in per cent with their 95 % intervals, all as edge reports them. For the second table each question is
asked in a chat of its own, and this script itself looks for the values in the answers:

- questions about the profile: the holdout's requests without a call whose "answer" says which words to look for;
- answers after a read tool: the holdout's requests with one, where the tool was called and gave a result. A result of
  more than four values may be summed up, so it isn't counted.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(edge, *args):
    p = subprocess.run([edge, *args, "--json"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if p.returncode:
        sys.exit(f"{' '.join(args)}: exit {p.returncode}\n{p.stdout.decode()}{p.stderr.decode()}")
    return json.loads(p.stdout)


def sample_of(folder):
    for name in ("sample.json", "learn_sample.json"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    sys.exit(f"{folder}: neither sample.json nor learn_sample.json")


def first_of_each(examples, n):
    """The first n examples of each tool, and the first n without one."""
    seen, kept = {}, []
    for e in examples:
        name = e["call"]["tool_name"] if e.get("call") else None
        seen[name] = seen.get(name, 0) + 1
        if seen[name] <= n:
            kept.append(e)
    return kept


def leaves(value):
    """The values of a result, as an answer would write them; null and empty text have nothing to state."""
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in leaves(v)]
    if isinstance(value, list):
        return [leaf for v in value for leaf in leaves(v)]
    if value is None or isinstance(value, str) and not value.strip():
        return []
    return [value if isinstance(value, str) else json.dumps(value)]


def states(answer, leaf):
    """Whether the answer has the value as words of its own: 3 isn't in 30, in 1.3 or in -3."""
    return re.search(r"(?<![\w.\-])" + re.escape(leaf.lower()) + r"(?!\w|[.,]\d)", answer.lower()) is not None


class Set:
    def __init__(self, edge, model, folder, home, examples=None):
        self.edge, self.model, self.folder = edge, model, folder
        self.name = os.path.basename(os.path.normpath(folder))
        self.tools, self.sample = os.path.join(folder, "tools.py"), sample_of(folder)
        with open(self.sample, encoding="utf-8") as f:
            sample = json.load(f)
        self.holdout = sample.get("holdout") or []
        if examples is not None:
            sample["examples"] = first_of_each(sample.get("examples") or [], examples)
            self.sample = os.path.join(home, self.name + ".json")
            with open(self.sample, "w", encoding="utf-8") as f:
                json.dump(sample, f)

    def edge_run(self, *args):
        return run(self.edge, *args, "--model", self.model, "--tools", self.tools)

    def learn(self, imprint):
        start = time.monotonic()
        learned = self.edge_run("demo", "learn", "run", "--sample-file", self.sample, "--out", imprint)
        t = learned["timings"]
        out = {"set": self.name, "tools": len(learned["tools"]), "tokens": learned["tokens"], "evaluation": learned["evaluation"],
               "learn_s": round((t["prefill_ms"] + t["learn_ms"]) / 1000, 1), "all_s": round(time.monotonic() - start, 1)}
        fresh = os.path.join(self.folder, "fresh.json")
        if os.path.exists(fresh):
            out["fresh"] = self.edge_run("demo", "learn", "eval", "--with-imprint", imprint, "--sample-file", fresh, "--no-baseline")["evaluation"]
        return out

    def chat(self, imprint, prompt):
        return self.edge_run("demo", "chat", "--with-imprint", imprint, "--prompt", prompt)

    def questions(self, imprint):
        count = {"asked": 0, "answered": 0, "by_model": 0, "from_profile": 0, "wrong": []}
        for case in self.holdout:
            if case.get("call") or not case.get("answer"):
                continue
            turn = self.chat(imprint, case["prompt"])
            count["asked"] += 1
            if not turn["tool_calls"] and case["answer"].lower() in turn["answer"].lower():
                count["answered"] += 1
                count["by_model" if turn["answer_source"] == "model" else "from_profile"] += 1
            else:
                count["wrong"].append({"prompt": case["prompt"], "answer": turn["answer"]})
        return count

    def results(self, imprint):
        described = run(self.edge, "tools", "inspect", self.tools)["tools"]
        read = {t["name"] for t in described if t["execution_level"] == "read" and not t["return_direct"]}
        count = {"asked": 0, "called": 0, "stated": 0, "by_model": 0, "from_result": 0, "wrong": []}
        for case in self.holdout:
            if not case.get("call") or case["call"]["tool_name"] not in read:
                continue
            turn = self.chat(imprint, case["prompt"])
            count["asked"] += 1
            calls = [c for c in turn["tool_calls"] if c["status"] == "ok"]
            if not calls or len(leaves(calls[-1]["result"])) > 4:
                continue
            count["called"] += 1
            if all(states(turn["answer"], leaf) for leaf in leaves(calls[-1]["result"])):
                count["stated"] += 1
                count["by_model" if turn["answer_source"] == "model" else "from_result"] += 1
            else:
                count["wrong"].append({"prompt": case["prompt"], "answer": turn["answer"], "result": calls[-1]["result"]})
        return count


def cell(shares, name):
    if shares is None:
        return "–"
    low, high = shares["intervals_95"][name]
    return f"{100 * shares[name]:.0f} ({100 * low:.0f}–{100 * high:.0f})"


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(c) for c in row) + " |")
    print()


def of(n, total):
    return f"{n}/{total}" if total else "–"


def report(results):
    rows = []
    for r in results:
        e = r["evaluation"]
        rows.append([r["set"], r["tools"], e["holdout"], "nothing learned"] + [cell(e.get("baseline"), k) for k in ("tool_choice", "exact_call", "no_tool")] + [""])
        rows.append(["", "", "", "learned"] + [cell(e["learned"], k) for k in ("tool_choice", "exact_call", "no_tool")] + [f"{r['learn_s']:.0f}"])
        if "fresh" in r:
            rows.append(["", "", r["fresh"]["holdout"], "learned, fresh.json"] + [cell(r["fresh"]["learned"], k) for k in ("tool_choice", "exact_call", "no_tool")] + [""])
    table(["set", "tools", "requests", "", "right tool %", "exact call %", "no tool if none %", "seconds to learn"], rows)
    if "questions" in results[0]:
        rows = []
        for r in results:
            q, a = r["questions"], r["results"]
            rows.append([r["set"], of(q["answered"], q["asked"]), q["by_model"], q["from_profile"], of(a["called"], a["asked"]), of(a["stated"], a["called"]), a["by_model"], a["from_result"]])
        table(["set", "profile questions answered", "by the model", "`profile`", "read tool gave a result", "answer states it", "by the model", "`result`"], rows)
    for r in results:
        for f in r["evaluation"]["failures"] + r.get("fresh", {}).get("failures", []):
            print(f"- {r['set']}: {f['prompt']!r}: got {json.dumps(f['got'], ensure_ascii=False)}, want {json.dumps(f['want'], ensure_ascii=False)}")
        for f in r.get("questions", {}).get("wrong", []) + r.get("results", {}).get("wrong", []):
            print(f"- {r['set']}: {f['prompt']!r}: {f['answer']!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", default=os.path.join(HERE, "bin", "edge"))
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--examples", type=int, metavar="N", help="learn from the first N examples of each tool only")
    parser.add_argument("--no-chat", action="store_true", help="leave out the second table")
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("sets", nargs="*", metavar="SET")
    options = parser.parse_args()
    edge = os.path.abspath(options.edge)
    folders = options.sets or [os.path.join(HERE, "examples"), *sorted(glob.glob(os.path.join(HERE, "testdata", "learning", "*", "")))]
    results = []
    with tempfile.TemporaryDirectory() as home:
        for folder in folders:
            s = Set(edge, options.model, folder, home, options.examples)
            imprint = os.path.join(home, s.name + ".imprint")
            print(f"{s.name}: learning", file=sys.stderr)
            result = s.learn(imprint)
            if not options.no_chat:
                print(f"{s.name}: asking", file=sys.stderr)
                result["questions"], result["results"] = s.questions(imprint), s.results(imprint)
            results.append(result)
    report(results)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(results, f, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
