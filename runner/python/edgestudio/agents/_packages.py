"""The two packages that come from elsewhere. The runner is the standard library's alone, so they are asked for late."""
from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRA = "pip install 'edge-studio[agents]'"


def pydantic() -> Any:
    """Pydantic 2; raises ImportError with what to install."""
    found = _load("pydantic", "pydantic", "check arguments")
    if found.VERSION.startswith("1."):
        raise ImportError(f"edgestudio.agents needs pydantic 2, got {found.VERSION}: {EXTRA}", name="pydantic")
    return found


def griffe() -> Any:
    """Griffe (the distribution is called griffelib); raises ImportError with what to install."""
    return _load("griffe", "griffelib", "read docstrings")


def _load(name: str, distribution: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    raise ImportError(f"edgestudio.agents needs the package {name} to {purpose}: pip install {distribution}, or {EXTRA}", name=name)
