#!/usr/bin/env python3
"""A second reader of edge.imprint/v1, written from docs/format/imprint-v1.md and from nothing else.

    verify_imprint.py FILE...            what each file is: "ok" and its id, or the code and step of its refusal
    verify_imprint.py --vectors FOLDER   holds this reader to a folder of test vectors and their index.json

It runs the steps of the gate that a file alone can be asked (1 to 3 and 5) and restores nothing. It needs Python 3.10
and the package "blake3"; everything else is the standard library. The exit status is 0 if all is well, 1 if not.
"""

import hashlib
import json
import math
import os
import re
import struct
import sys

from blake3 import blake3

MAGIC = b"EDGEIMP\x00"
PRELUDE = struct.Struct("<8sIIQ32s")  # section 3
MAX_HEADER = 1 << 20
ALIGNMENT = 4096
SEGMENT = 4 << 20
MAX_BODY = 1 << 52
MAX_INTEGER = (1 << 53) - 1

MALFORMED = "imprint_header_malformed"
UNSUPPORTED = "imprint_format_unsupported"
TRUNCATED = "imprint_truncated"
TRAILING = "imprint_trailing_data"
MISMATCH = "imprint_payload_mismatch"


class Refusal(Exception):
    """The file is refused: code, step of the gate, and why."""

    def __init__(self, code, step, why):
        super().__init__(f"{code} at {step}: {why}")
        self.code, self.step = code, step


class Bad(Exception):
    """The header isn't one."""


def need(condition, why):
    if not condition:
        raise Bad(why)


# --- Canonical JSON, section 2 ------------------------------------------------------------------------------------


def number_text(value):
    """ECMAScript's text of a finite number, which RFC 8785 takes over. Python's repr has the same shortest digits."""
    if value == 0:
        return "0"
    sign, digits, exponent = "-" if value < 0 else "", *decimal(abs(value))
    n = len(digits) + exponent  # the decimal point stands behind the n-th digit
    if 0 < n <= 21:
        if exponent >= 0:
            return sign + digits + "0" * exponent
        return sign + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return sign + "0." + "0" * -n + digits
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'+' if n > 0 else '-'}{abs(n - 1)}"


def decimal(value):
    """value = int(digits) * 10**exponent, with no zero at either end of digits."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits, exponent = whole + fraction, int(exponent or 0) - len(fraction)
    stripped = digits.rstrip("0")
    return stripped.lstrip("0"), exponent + len(digits) - len(stripped)


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def string_text(value):
    return '"' + "".join(ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'


def canonical(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(string_text(n) + ":" + canonical(value[n]) for n in names) + "}"
    raise Bad("null is no value of a header")


def members(pairs):
    need(len({name for name, _ in pairs}) == len(pairs), "a member twice")
    return dict(pairs)


def refuse_constant(text):
    raise Bad(f"{text} is no number")


def parse_json(raw):
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=members, parse_constant=refuse_constant)
        need(canonical(value).encode("utf-8") == raw, "not in canonical form")
    except (ValueError, OverflowError, RecursionError) as err:
        raise Bad(str(err)) from None
    return value


# --- The header's shape, section 4 ---------------------------------------------------------------------------------


def text(value):
    need(isinstance(value, str), "not a text")


def name(value):
    text(value)
    need(value != "", "an empty text")


def flag(value):
    need(isinstance(value, bool), "neither true nor false")


def number(value):
    need(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value), "not a number")
    need(not MAX_INTEGER < abs(value) < 1e21, "an integer beyond 2^53-1")


def integer(value):
    need(isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_INTEGER, "not an integer")


def positive(value):
    integer(value)
    need(value > 0, "not positive")


def sha256_or_zero(value):
    text(value)
    need(re.fullmatch("[0-9a-f]{64}", value), "not 64 lower-case hex digits")


def sha256(value):
    sha256_or_zero(value)
    need(value.strip("0"), "a digest of zeros")


def blake3_text(value):
    text(value)
    need(re.fullmatch("blake3:[0-9a-f]{64}", value), "not blake3: and 64 lower-case hex digits")


def list_of(shape):
    def check_list(value):
        need(isinstance(value, list), "not a list")
        for item in value:
            check(item, shape)

    return check_list


def check(value, shape):
    """Exactly the members of shape, each of its kind."""
    if callable(shape):
        return shape(value)
    need(isinstance(value, dict) and value.keys() == shape.keys(), f"members other than {', '.join(shape)}")
    for member, inner in shape.items():
        try:
            check(value[member], inner)
        except Bad as err:
            raise Bad(f"{member}: {err}") from None


IDENTITY = {
    "model": {"sha256": sha256, "architecture": name},
    "tokenizer_sha256": sha256,
    "chat_template_sha256": sha256,
    "engine": {"name": name, "version": name, "libraries": list_of({"name": name, "sha256": sha256})},
    "params": {
        "kv_type_k": name, "kv_type_v": name, "flash_attention": flag, "n_batch": positive, "n_ubatch": positive,
        "rope_freq_base": number, "rope_freq_scale": number, "swa_full": flag,
        "lora": list_of({"sha256": sha256, "scale": number}),
    },
    "prompt_format_version": name,
    "schema_generator_version": text,
    "active_set_sha256": sha256_or_zero,
    "tools": list_of({"name": name, "schema_sha256": sha256}),
    "prefix_sha256": sha256,
    "learned_version": text,
}
HEADER = {
    "format": text,
    "identity": IDENTITY,
    "baked_on": {"os": text, "arch": text, "cpu": text},
    "quality": {"mean_kl": number, "positions": integer},
    "tokens": positive,
    "layers": list_of({"name": text, "tokens": positive}),
    "segment_size": positive,
    "sections": list_of({"name": text, "offset": integer, "length": positive, "blake3": blake3_text,
                         "segments": list_of(blake3_text)}),
}


def ascending(items):
    names = [item["name"] for item in items]
    return all(a < b for a, b in zip(names, names[1:]))  # by code point


def align(n):
    return -(-n // ALIGNMENT) * ALIGNMENT


def parse_header(raw):
    header = parse_json(raw)
    check(header, HEADER)
    need(header["format"] == "edge.imprint/v1", "another format")
    identity = header["identity"]
    need(ascending(identity["engine"]["libraries"]), "libraries out of order")
    need(ascending(identity["tools"]), "tools out of order")
    has_tools = bool(identity["tools"])
    need(has_tools == bool(identity["active_set_sha256"].strip("0")), "active_set_sha256 goes with tools")
    need(has_tools == bool(identity["schema_generator_version"]), "schema_generator_version goes with tools")
    quality, params = header["quality"], identity["params"]
    need(quality["mean_kl"] >= 0 and 0 <= quality["positions"] < 1 << 31, "quality")
    if quality["positions"] == 0 or params["kv_type_k"] == params["kv_type_v"] == "f16":
        need(quality == {"mean_kl": 0, "positions": 0}, "quality of nothing")
    layers = [layer["name"] for layer in header["layers"]]
    need(1 <= len(layers) <= 8 and len(set(layers)) == len(layers), "layers")
    need(all(re.fullmatch("[a-z]{1,32}", layer) for layer in layers), "a layer's name")
    need(sum(layer["tokens"] for layer in header["layers"]) == header["tokens"], "tokens of the layers")
    need(header["segment_size"] == SEGMENT, "segment_size")

    end = 0
    for section in header["sections"]:
        need(section["offset"] == align(end), f"offset of {section['name']}")
        end = section["offset"] + section["length"]
        need(end <= MAX_BODY, "a section beyond 2^52")
        need(len(section["segments"]) == -(-section["length"] // SEGMENT), "number of segments")
        need(section["blake3"] == "blake3:" + root(section["segments"]), "a section's digest isn't its segments'")
    names = [section["name"] for section in header["sections"]]
    states = ["state." + layer for layer in layers]
    need(names in (["tokens", *states], ["tokens", "learned", *states]), f"sections {names}")
    need(("learned" in names) == bool(identity["learned_version"]), "learned_version goes with a learned section")
    need(header["tokens"] < 1 << 31 and header["sections"][0]["length"] == 4 * header["tokens"], "number of tokens")
    return header, end


def root(segments):
    return blake3(b"".join(bytes.fromhex(s.removeprefix("blake3:")) for s in segments)).hexdigest()


# --- The gate, section 6 -------------------------------------------------------------------------------------------


class Spread:
    """A thin file and its layers, read as if they were one file."""

    def __init__(self, file, end, layers):
        self.file, self.end, self.layers, self.at = file, end, layers, 0

    def seek(self, at):
        self.at = at

    def read(self, n):
        out = b""
        while len(out) < n:
            piece = self.piece(n - len(out))
            if not piece:
                break
            out += piece
            self.at += len(piece)
        return out

    def piece(self, n):
        if self.at < self.end:
            self.file.seek(self.at)
            return self.file.read(min(n, self.end - self.at))
        for start, length, path in self.layers:
            if self.at < start:
                return bytes(min(n, start - self.at))
            if self.at < start + length:
                with open(path, "rb") as layer:
                    layer.seek(self.at - start)
                    return layer.read(min(n, start + length - self.at))
        return b""


def spread(file, size, header, body, folder):
    """The whole of a thin file and its size; a file that isn't thin as it is."""
    head, states = sections_of(header)
    end = body + head[-1]["offset"] + head[-1]["length"]
    whole = body + states[-1]["offset"] + states[-1]["length"]
    if not end <= size < whole:
        return file, size
    paths = [os.path.join(folder, "layers", s["blake3"].removeprefix("blake3:") + ".layer") for s in states]
    missing = [path for path in paths if not os.path.isfile(path)]
    if size > end:
        if missing:
            return file, size
        raise Refusal(TRAILING, "size", f"{size} bytes, not {end}")
    for state, path in zip(states, paths):
        if path in missing:
            raise Refusal(TRUNCATED, "size", f"no {path}")
        got = os.path.getsize(path)
        if got != state["length"]:
            raise Refusal(TRUNCATED if got < state["length"] else TRAILING, "size", f"{path} has {got} bytes")
    return Spread(file, end, [(body + s["offset"], s["length"], path) for s, path in zip(states, paths)]), whole


def sections_of(header):
    """The sections before the layers, and those of the layers."""
    n = len(header["sections"]) - len(header["layers"])
    return header["sections"][:n], header["sections"][n:]


def verify(file, size, folder):
    """Runs steps 1 to 3 and 5 on an open file of so many bytes and gives its id. Layers may lie in a folder beside it."""
    # Step 1: the prelude.
    raw = file.read(PRELUDE.size)
    if raw[:8] != MAGIC[: len(raw)]:
        raise Refusal(MALFORMED, "prelude", "another magic")
    if len(raw) < PRELUDE.size:
        raise Refusal(TRUNCATED, "prelude", "no whole prelude")
    _, version, header_length, file_size, header_digest = PRELUDE.unpack(raw)
    header_end = PRELUDE.size + header_length
    if not 1 <= header_length <= MAX_HEADER or file_size < header_end:
        raise Refusal(MALFORMED, "prelude", "lengths that make no sense")
    if version != 1:
        raise Refusal(UNSUPPORTED, "prelude", f"format version {version}")
    if size < header_end:
        raise Refusal(TRUNCATED, "prelude", "no whole header")

    # Step 2: the header.
    raw = file.read(header_length)
    identifier = blake3(raw).digest()
    if identifier != header_digest:
        raise Refusal(MALFORMED, "header", "header digest")
    try:
        header, body_length = parse_header(raw)
    except Bad as err:
        raise Refusal(MALFORMED, "header", str(err)) from None
    body = align(header_end)
    if file_size != body + body_length:
        raise Refusal(MALFORMED, "header", "file size")

    # Step 3: the size, and nothing between the sections.
    file, size = spread(file, size, header, body, folder)
    if size != file_size:
        raise Refusal(TRUNCATED if size < file_size else TRAILING, "size", f"{size} bytes, not {file_size}")
    gaps = [(header_end, body, MALFORMED)]
    sections = header["sections"]
    for before, after in zip(sections, sections[1:]):
        gaps.append((body + before["offset"] + before["length"], body + after["offset"], MISMATCH))
    for start, end, code in gaps:
        file.seek(start)
        if file.read(end - start).strip(b"\0"):
            raise Refusal(code, "size", f"padding from {start} to {end}")

    # Step 5: the sections. (Step 4 compares the identity with a live world, which a file alone doesn't have.)
    for section in sections:
        file.seek(body + section["offset"])
        left, prefix = section["length"], hashlib.sha256()
        for number_, want in enumerate(section["segments"]):
            piece = file.read(min(SEGMENT, left))
            left -= len(piece)
            if blake3(piece).hexdigest() != want.removeprefix("blake3:"):
                raise Refusal(MISMATCH, "payload", f"{section['name']}, segment {number_}")
            prefix.update(piece)
        if section["name"] == "tokens" and prefix.hexdigest() != header["identity"]["prefix_sha256"]:
            raise Refusal(MISMATCH, "payload", "prefix_sha256 isn't that of the tokens")
    return "blake3:" + identifier.hex()


def verify_file(path):
    with open(path, "rb") as file:
        return verify(file, os.fstat(file.fileno()).st_size, os.path.dirname(path))


# --- Command line --------------------------------------------------------------------------------------------------


def outcome(path):
    try:
        return {"expect": "ok", "id": verify_file(path)}, ""
    except Refusal as err:
        return {"expect": err.code, "step": err.step}, str(err)


def vectors(folder):
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    wrong = 0
    for vector in index["vectors"]:
        want = {key: vector[key] for key in ("expect", "step", "id") if key in vector}
        got, why = outcome(os.path.join(folder, vector["file"]))
        if got != want:
            wrong += 1
            print(f"{vector['file']}: got {got} ({why}), want {want}: {vector['comment']}")
    for known in index["segmented_digests"]:
        data = bytes(i % 251 for i in range(known["length"]))
        segments = ["blake3:" + blake3(data[at : at + SEGMENT]).hexdigest() for at in range(0, len(data), SEGMENT)]
        if segments != known["segments"] or "blake3:" + root(segments) != known["blake3"]:
            wrong += 1
            print(f"segmented digest of {known['length']} bytes: got {segments}")
    total = len(index["vectors"]) + len(index["segmented_digests"])
    print(f"{total - wrong} of {total} vectors agree")
    return wrong == 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--vectors":
        return 0 if vectors(arguments[1]) else 1
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 1
    good = True
    for path in arguments:
        got, why = outcome(path)
        good = good and got["expect"] == "ok"
        print(f"{path}: {why or 'ok ' + got['id']}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
