"""The second reader agrees with every test vector, and writes numbers as RFC 8785 wants. Needs the package "blake3"."""

import os
import struct

import pytest

import verify_imprint

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "testdata", "vectors", "imprint-v1")


def test_every_vector_agrees():
    assert verify_imprint.vectors(VECTORS)


def test_a_wrong_expectation_is_told(tmp_path, capsys):
    """A checker that never disagrees checks nothing."""
    with open(os.path.join(VECTORS, "minimal.imprint"), "rb") as file:
        (tmp_path / "a.imprint").write_bytes(file.read()[:-1])
    (tmp_path / "index.json").write_text(
        '{"vectors":[{"file":"a.imprint","expect":"ok","id":"blake3:00","comment":"cut"}],"segmented_digests":[]}'
    )
    assert not verify_imprint.vectors(str(tmp_path))
    assert "imprint_truncated" in capsys.readouterr().out


# RFC 8785, appendix B: the bits of a binary64 and its text.
@pytest.mark.parametrize("bits, text", [
    ("0000000000000000", "0"), ("8000000000000000", "0"), ("0000000000000001", "5e-324"), ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"), ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"), ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"), ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"), ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"), ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"), ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"), ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"), ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"), ("43143ff3c1cb0959", "1424953923781206.2"),
])
def test_numbers(bits, text):
    assert verify_imprint.number_text(struct.unpack(">d", bytes.fromhex(bits))[0]) == text
