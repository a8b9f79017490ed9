"""Imports ahead of a call what function tools need, which takes longer than all the rest of it.

Only what the same file imported when it was inspected, so that a tool that forgot an import fails in the same way cold and
warm; and nothing that the file's own folder has under the same name, since that would be imported instead.
"""
from __future__ import annotations

import sys

from edgestudio._loading import SEPARATORS
from edgestudio._system import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULES = ("edgestudio.agents", "pydantic", "griffe")


def loaded() -> list[str]:
    return [name for name in MODULES if name in sys.modules]


class Shadowed(Exception):
    """The folder has a module of that name."""


class Own:
    """A finder that finds nothing, and stops an import that isn't the folder's to decide any more."""

    def __init__(self, folder: str) -> None:
        self.names = {entry.split(".")[0] for entry in system.listdir(folder or SEPARATORS[0])}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if path is None and name in self.names and name != "edgestudio" and name not in sys.stdlib_module_names:
            raise Shadowed(name)


def load(folder: str, names: list[str]) -> None:
    """What can't be imported is left to the call, which says why."""
    from edgestudio._site import folders
    before = list(sys.path)
    try:
        own = Own(folder)
        sys.meta_path.insert(0, own)  # type: ignore[arg-type]
        sys.path.extend(folders())
        for name in names:
            if name in MODULES:
                __import__(name)
    except Exception:
        pass
    finally:
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Own)]
        sys.path[:] = before
