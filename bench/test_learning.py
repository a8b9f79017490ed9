"""What learning.py itself decides: whether an answer states a value, and which values a result has."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import learning


@pytest.mark.parametrize(
    "answer, leaf, stated",
    [
        ("The fee is 0.75.", "0.75", True),
        ("The fee is 10.75", "0.75", False),
        ("The fee is 0.755", "0.75", False),
        ("It is 3 degrees", "3", True),
        ("It is 30 degrees", "3", False),
        ("It is 1.3 degrees", "3", False),
        ("It is -3 degrees", "3", False),
        ("It is -3 degrees", "-3", True),
        ("It was SHIPPED.", "shipped", True),
        ("It was reshipped", "shipped", False),
        ("It is at 3, Main Street", "3", True),
        ("", "3", False),
    ],
)
def test_states(answer, leaf, stated):
    assert learning.states(answer, leaf) == stated


def test_leaves():
    assert learning.leaves({"a": [1, {"b": "x"}], "c": None, "d": " ", "e": True, "f": 0.5, "g": []}) == ["1", "x", "true", "0.5"]


def test_first_of_each():
    call = {"tool_name": "a", "arguments": {}}
    examples = [{"prompt": "1", "call": call}, {"prompt": "2", "answer": "x"}, {"prompt": "3", "call": call}, {"prompt": "4", "answer": "y"}]
    assert [e["prompt"] for e in learning.first_of_each(examples, 1)] == ["1", "2"]
    assert learning.first_of_each(examples, 0) == []
    assert learning.first_of_each(examples, 2) == examples


def test_sample_of(tmp_path):
    (tmp_path / "learn_sample.json").write_text("{}")
    assert learning.sample_of(str(tmp_path)).endswith("learn_sample.json")
    (tmp_path / "sample.json").write_text("{}")
    assert learning.sample_of(str(tmp_path)).endswith(os.sep + "sample.json")
    with pytest.raises(SystemExit):
        learning.sample_of(str(tmp_path / "nowhere"))
