"""Where the interpreter's installed packages are, for an interpreter that was started without site (-S).

First the folders themselves, which is enough for what pip installs; only if a module isn't in them, their .pth files,
which may run code (editable installs need them).
"""
from __future__ import annotations

import os
import site
import sys
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

def find(name: str, finder: Any) -> Any:
    """The spec of a module that wasn't found so far, or None; finder is the meta-path finder that asks."""
    if not finder.folders:
        finder.folders = folders()
        sys.path.extend(folder for folder in finder.folders if folder not in sys.path)
        spec = PathFinder.find_spec(name)
        if spec is not None:
            return spec
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
    known = set(sys.path)
    for folder in finder.folders:
        site.addsitedir(folder, known)
    for other in sys.meta_path:
        spec = other.find_spec(name, None)
        if spec is not None:
            return spec
    return None


def folders() -> list[str]:
    """Those of the candidates that are there."""
    return [folder for folder in candidates() if os.path.isdir(folder)]


def candidates() -> list[str]:
    """The site-packages folders in Python's own order: the user's, then the interpreter's; or its virtual environment's."""
    bases = list(dict.fromkeys([sys.base_prefix, sys.base_exec_prefix]))
    programs = os.path.dirname(os.path.abspath(sys.executable)) if sys.executable else ""
    for folder in (programs, os.path.dirname(programs)):
        config = os.path.join(folder, "pyvenv.cfg")
        if programs and os.path.isfile(config):
            # As site.venv does: packages look for their data below sys.prefix.
            sys.prefix = sys.exec_prefix = os.path.dirname(programs)
            own = site.getsitepackages([sys.prefix])
            return own + user_folders() + site.getsitepackages(bases) if includes_system(config) else own
    return user_folders() + site.getsitepackages(bases)


def includes_system(config: str) -> bool:
    with open(config, encoding="utf-8") as lines:
        for line in lines:
            key, _, value = line.partition("=")
            if key.strip().lower() == "include-system-site-packages":
                return value.strip().lower() == "true"
    return True


def user_folders() -> list[str]:
    if hasattr(os, "getuid") and (os.getuid() != os.geteuid() or os.getgid() != os.getegid()):
        return []
    try:
        return [site.getusersitepackages()]
    except Exception:
        return []
