"""Time to the first token with and without an imprint, on this machine, in one run.

    python3 bench/first_token.py [--edge bin/edge] [--runs 5] [--tools 8] [--json FILE]

The same tools, model and question each time; cold and restored runs alternate, so that a busy machine hurts both.
All figures are what edge measures of itself; "whole process" is from the program's start to the first token.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

WORDS = [
    ("find_invoice", "invoice", "Find an invoice of this year by its number and tell its date, amount, customer and state of payment."),
    ("list_parcels", "parcel", "List the parcels that left the house on a given day, with their weight, carrier and destination."),
    ("check_stock", "article", "Check how many pieces of an article are in stock, and on which shelf of which room they lie."),
    ("quote_price", "product", "Quote the price of a product for a number of pieces, with the discount of the customer's group."),
    ("plan_route", "address", "Plan the shortest route to an address for the van, avoiding the streets that are closed today."),
    ("read_meter", "meter", "Read a meter of the building by its number and tell the use of the last day, week and month."),
    ("book_room", "room", "Tell whether a meeting room is free at an hour of a day, and which rooms are free beside it."),
    ("look_up_person", "person", "Look up a person of the house by name and tell the department, telephone number and office hours."),
]
QUESTION = "Where does article K-31 lie?"


def tools_file(count):
    head = "from typing import Literal\nfrom edgestudio.tools import edge_tool\n"
    return head + "".join(
        f'\n\n@edge_tool(description="{text}")\ndef {name}({noun}: str, count: int = 1, detail: Literal["short", "full"] = "short", note: str = "none") -> dict:\n'
        f'    return {{"{noun}": {noun}, "count": count}}\n'
        for name, noun, text in WORDS[:count]
    )


def run(edge, *args):
    p = subprocess.run([edge, *args, "--json"], capture_output=True, check=False)
    if p.returncode:
        sys.exit(f"{' '.join(args)}: exit {p.returncode}\n{p.stdout.decode()}{p.stderr.decode()}")
    return json.loads(p.stdout)


def middle(values):
    return {"median": round(statistics.median(values), 1), "min": round(min(values), 1), "max": round(max(values), 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", default="bin/edge")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tools", type=int, default=len(WORDS))
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    edge = os.path.abspath(options.edge)
    with tempfile.TemporaryDirectory() as folder:
        tools, sample, imprint = (os.path.join(folder, n) for n in ("tools.py", "sample.json", "bench.imprint"))
        with open(tools, "w", encoding="utf-8") as f:
            f.write(tools_file(options.tools))
        with open(sample, "w", encoding="utf-8") as f:
            json.dump({"schema": "edge.learn_sample/v1"}, f)
        learned = run(edge, "demo", "learn", "run", "--sample-file", sample, "--tools", tools, "--out", imprint)
        chat = ["demo", "chat", "--tools", tools, "--prompt", QUESTION, "--max-tokens", "1"]
        figures = {k: [] for k in ("cold_first", "restored_first", "cold_process", "restored_process", "restore_rate", "verify_rate", "restore", "verify", "load")}
        for _ in range(options.runs):
            cold = run(edge, *chat)
            figures["cold_first"].append(cold["timings"]["prefill_ms"])
            figures["cold_process"].append(cold["timings"]["ttft_ms"])
            warm = run(edge, *chat, "--with-imprint", imprint)
            assert warm["usage"]["cached_tokens"] == learned["tokens"] and cold["usage"]["cached_tokens"] == 0, "not what was to be measured"
            i = warm["imprint"]
            figures["restored_first"].append(warm["timings"]["prefill_ms"] + i["verify_ms"] + i["restore_ms"])
            figures["restored_process"].append(warm["timings"]["ttft_ms"])
            figures["load"].append(warm["timings"]["load_ms"])
            figures["verify"].append(i["verify_ms"])
            figures["restore"].append(i["restore_ms"])
            figures["verify_rate"].append(i["bytes_read"] / i["verify_ms"] / 1e6)
            figures["restore_rate"].append(learned["payload_bytes"] / i["restore_ms"] / 1e6)
    report = {
        "schema": "edge.bench_first_token/v1",
        "machine": {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None},
        "model": learned["model"]["name"], "engine": learned["engine"]["version"], "runs": options.runs,
        "prefix_tokens": learned["tokens"], "payload_bytes": learned["payload_bytes"],
        **{k + ("_GBps" if k.endswith("rate") else "_ms"): middle(v) for k, v in figures.items()},
        "ratio_first_token": round(statistics.median(figures["cold_first"]) / statistics.median(figures["restored_first"]), 1),
        "ratio_process": round(statistics.median(figures["cold_process"]) / statistics.median(figures["restored_process"]), 1),
    }
    rows = [
        ("cold first token (prefix and question decoded)", "cold_first_ms", "ms"),
        ("restored first token (verified, restored, question decoded)", "restored_first_ms", "ms"),
        ("  of which verifying", "verify_ms", "ms"),
        ("  of which restoring", "restore_ms", "ms"),
        ("verification rate", "verify_rate_GBps", "GB/s"),
        ("restore rate", "restore_rate_GBps", "GB/s"),
        ("whole process to the first token, cold", "cold_process_ms", "ms"),
        ("whole process to the first token, restored", "restored_process_ms", "ms"),
    ]
    print(f"{report['model']}, llama.cpp {report['engine']}, prefix of {report['prefix_tokens']} tokens ({report['payload_bytes'] / 1e6:.1f} MB of state), "
          f"{options.runs} runs each, {report['machine']['cores']} cores, load {report['machine']['load']:.1f}")
    for label, key, unit in rows:
        v = report[key]
        print(f"  {label:<60} {v['median']:>9} {unit:<5} ({v['min']} … {v['max']})")
    print(f"  {'first token: cold / restored':<60} {report['ratio_first_token']:>9} ×")
    print(f"  {'whole process: cold / restored':<60} {report['ratio_process']:>9} ×")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)


main()
