"""edge beside llama-server and llama-cpp-python: the same model file, prompt, threads and machine, in one run.

    python3 bench/peers/peers.py [--edge bin/edge] [--model NAME] [--prefix 1000] [--threads N] [--runs 5] [--json FILE]

The first run builds the peers into EDGE_HOME/peers, which takes twenty minutes of two idle cores. An ollama on the PATH
is measured too. The order of the programs is another one in each round; figures are medians, with the least and the most.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

import build
import programs


def home():
    """edge's folder, found as edge finds it."""
    if os.environ.get("EDGE_HOME"):
        return os.environ["EDGE_HOME"]
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data, "edge")


def middle(values):
    return {"median": round(statistics.median(values), 1), "min": round(min(values), 1), "max": round(max(values), 1), "runs": len(values)} if values else None


def summarise(name, verifies, runs):
    """What the runs of one program came to."""
    calls = [c for r in runs for c in r["calls"]]
    once = runs[0]["calls"]
    return {
        "name": name, "verifies": verifies,
        "first_ms": middle([r["first_ms"] for r in runs]),
        "own_first_ms": middle([r["own_first_ms"] for r in runs if "own_first_ms" in r]),
        "start_ms": middle([r["start_ms"] for r in runs if "start_ms" in r]),
        "restore_ms": middle([r["restore_ms"] for r in runs if r["restore_ms"] is not None]),
        "restored_tokens": runs[-1]["restored"], "decoded_tokens": runs[-1]["decoded"],
        "call_ms": middle([c["ms"] for c in calls]),
        "call_tokens_drawn": sum(c["drawn"] for c in once), "call_tokens_forced": sum(c["forced"] for c in once),
        "valid": sum(c["valid"] for c in once), "right": sum(c["right"] for c in once), "requests": len(once),
    }


def compare(ours, other):
    """edge's median divided by the other's, per figure."""
    return {k: round(ours[k]["median"] / other[k]["median"], 2) for k in ("first_ms", "restore_ms", "call_ms") if ours[k] and other[k] and other[k]["median"]}


def figure(value):
    return "–" if not value else f"{value['median']:g} ({value['min']:g}–{value['max']:g})"


def table(report):
    """The report in Markdown."""
    ours = report["programs"][0]
    lines = [
        f"{report['model']}, prefix of {report['prefix_tokens']} tokens, question of {report['suffix_tokens']}, threads: {report['threads']}, {report['runs']} rounds, "
        f"{report['machine']['cores']} cores, load {report['machine']['load_before']:.1f} before and {report['machine']['load_after']:.1f} after.",
        "",
        "| program | start to first token, ms | edge / it | restore, ms | verified | said restored | decoded for the question | request to call, ms | edge / it | tokens drawn (in batches) | valid | right |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for p in report["programs"]:
        r = compare(ours, p)
        of = f"/{p['requests']}" if p["requests"] else ""
        lines.append("| " + " | ".join(str(x) for x in [
            p["name"], figure(p["first_ms"]), r.get("first_ms", "–"), figure(p["restore_ms"]), "yes" if p["verifies"] else "no", p["restored_tokens"], p["decoded_tokens"],
            figure(p["call_ms"]), r.get("call_ms", "–"), f"{p['call_tokens_drawn']} ({p['call_tokens_forced']})", f"{p['valid']}{of}", f"{p['right']}{of}",
        ]) + " |")
    for name, why in report["left_out"].items():
        lines.append(f"\nLeft out: {name}: {why}")
    return "\n".join(lines)


def load():
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def measure(list_of_programs, runs, say):
    """Every program once a round, each round beginning with another one. A program that fails is left out."""
    results, left_out = {}, {}
    for p in list_of_programs:
        say(f"{p.name}: preparing")
        try:
            p.prepare()
            results[p.name] = []
        except (OSError, RuntimeError) as error:
            left_out[p.name] = str(error)
    for n in range(runs):
        for i in range(len(list_of_programs)):
            p = list_of_programs[(i + n) % len(list_of_programs)]
            if p.name not in results:
                continue
            say(f"round {n + 1} of {runs}: {p.name}")
            try:
                results[p.name].append(p.run())
            except (OSError, RuntimeError) as error:
                del results[p.name]
                left_out[p.name] = str(error)
    return results, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", default="bin/edge")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--prefix", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2, help="of the build")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    edge = os.path.abspath(options.edge)
    built = build.build(os.path.join(home(), "peers"), options.jobs)
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            [edge, "bench", "--work", folder, "--prefix", str(options.prefix), "--threads", str(options.threads), "--model", options.model, "--json"],
            capture_output=True, check=False,
        )
        if made.returncode:
            sys.exit(made.stdout.decode() + made.stderr.decode())
        work = json.loads(made.stdout)
        everyone = [programs.Edge(edge, work, folder), programs.LlamaServer(built, work, folder), programs.LlamaCppPython(built, work, folder)]
        ollama = shutil.which("ollama")
        if ollama:
            everyone.append(programs.Ollama(ollama, work, folder))
        results, left_out = measure(everyone, options.runs, lambda text: print(text, file=sys.stderr))
    if "edge" not in results:
        sys.exit(left_out["edge"])
    report = {
        "schema": "edge.bench_peers/v1", "model": options.model, "model_sha256": work["model_sha256"], "prefix_tokens": len(work["prefix"]), "suffix_tokens": len(work["suffix"]),
        "threads": options.threads, "runs": options.runs,
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "load_before": before, "load_after": load()},
        "programs": [summarise(p.name, p.verifies, results[p.name]) for p in everyone if p.name in results],
        "left_out": left_out if ollama else {**left_out, "ollama": "isn't on the PATH"},
    }
    report["ratios"] = {p["name"]: compare(report["programs"][0], p) for p in report["programs"][1:]}
    print(table(report))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
