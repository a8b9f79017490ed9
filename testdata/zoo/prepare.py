"""Copies tiny models from one folder into this one with room for longer contexts.

usage: python3 prepare.py FOLDER NAME...

The models say that they were trained for 256 tokens, and edge refuses to go beyond that. Their weights are random
numbers, so the limit means nothing: it is set to 512 here, in place, so that prefixes of 300 tokens can be tested.
"""

import pathlib
import struct
import sys

UINT32 = 4  # gguf_metadata_value_type


def widen(data: bytes, arch: str) -> bytes:
    """Gives data with the value of ARCH.context_length changed from 256 to 512."""
    name = f"{arch}.context_length".encode()
    key = struct.pack("<Q", len(name)) + name + struct.pack("<I", UINT32)
    if data.count(key) != 1:
        raise SystemExit(f"{arch}: want the key {name.decode()} once, got it {data.count(key)} times")
    at = data.index(key) + len(key)
    if struct.unpack_from("<I", data, at) != (256,):
        raise SystemExit(f"{arch}: the context length isn't 256")
    return data[:at] + struct.pack("<I", 512) + data[at + 4 :]


def main(folder: str, *names: str) -> None:
    here = pathlib.Path(__file__).parent
    for name in names:
        data = pathlib.Path(folder, f"{name}.gguf").read_bytes()
        (here / f"{name}.gguf").write_bytes(widen(data, name))


if __name__ == "__main__":
    main(*sys.argv[1:])
