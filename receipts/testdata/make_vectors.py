"""Makes testdata/v1 from docs/format/receipt-v1.md alone: python3 make_vectors.py (Python 3.10+, standard library).

A second implementation of the writer. What it wrote once is committed, and every later edge must read it; so run it
only to see that it still gives the same bytes.
"""

import hashlib
import json
import pathlib


def canonical(value):
    # Enough for these documents: ASCII member names, integers and plain strings.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def main():
    folder = pathlib.Path(__file__).parent / "v1"
    folder.mkdir(exist_ok=True)
    bodies = [
        ("learn", "2026-01-02T03:04:05.006Z", {"artifact_id": "blake3:" + "5" * 64, "tools_file_sha256": sha256(b"tools"), "tokens": 541}),
        ("chat", "2026-01-02T03:05:00.000Z", {"finish_reason": "answer", "prompt_sha256": sha256("prêt".encode()), "note": "größe"}),
        ("refusal", "2026-01-02T03:04:59.999Z", {"code": "imprint_model_mismatch", "mismatches": [{"field": "model", "got": "b", "want": "a"}]}),
    ]
    previous, name = None, ""
    for sequence, (kind, created, body) in enumerate(bodies, 1):
        record = {
            "schema": "edge.receipt/v1",
            "kind": kind,
            "created_at": created,
            "edge": {"version": "0.0.0-vector", "go": "go1.26.8"},
            "sequence": sequence,
            "previous_sha256": previous,
            "body": body,
            "body_sha256": sha256(canonical(body)),
        }
        record["record_sha256"] = sha256(canonical(record))
        content = canonical(record)
        time = created.replace("-", "").replace(":", "")
        name = f"{time}-{kind}-{(previous or '0' * 8)[:8]}.json"
        (folder / name).write_bytes(content)
        previous = sha256(content)
    head = {"schema": "edge.receipt_head/v1", "sequence": len(bodies), "receipt": name, "receipt_sha256": previous}
    (folder / "head.json").write_bytes(canonical(head))


if __name__ == "__main__":
    main()
