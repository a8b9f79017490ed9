"""Loads a tools file: the very bytes whose digest was taken are compiled and run, never a second reading of the path.

Modules of the file's own folder are loaded the same way, from the source bytes that are then reported; their .pyc files
are ignored, since a stale one would run something else than what was hashed.
"""
from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, FileFinder, SourceFileLoader
from _imp import extension_suffixes

from edgestudio._system import sha256, system
from edgestudio.tools import Collector, collecting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODULE = "tools"
MAX_FILE_BYTES = 8 << 20
SEPARATORS = "/\\" if sys.platform == "win32" else "/"


class Failure(Exception):
    """An error with a code of edge's table; the message is safe to show and to keep."""

    def __init__(self, code: str, message: str, line: int = 0, traceback_sha256: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.line, self.traceback_sha256 = code, message, line, traceback_sha256


class ToolsFile:
    """A tools file after it was read. load() runs it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.source = read_file(path)
        self.source_sha256 = sha256(self.source).hexdigest()
        self.collector = Collector()
        self.namespace: dict[str, Any] = {}
        self.siblings: Siblings = Siblings(path)

    def load(self) -> None:
        """Runs the file; whatever it raises comes through."""
        module = type(sys)(MODULE)
        spec = ModuleSpec(MODULE, None, origin=self.path)
        module.__dict__.update(__file__=self.path, __spec__=spec, __package__="", __loader__=None)
        self.namespace = module.__dict__
        sys.argv = [self.path]
        sys.modules[MODULE] = module
        # A sibling that imports the file under its own name gets this module, not a second copy of it.
        stem = self.path[len(self.siblings.folder):].strip(SEPARATORS).removesuffix(".py")
        if stem.isidentifier() and stem not in sys.modules and stem not in sys.stdlib_module_names:
            sys.modules[stem] = module
        self.siblings.install()
        sys.meta_path.append(SitePackages())
        collecting.set(self.collector)
        try:
            exec(compile(self.source, self.path, "exec", 0, True), module.__dict__)
        finally:
            collecting.set(None)

    def line_of(self, error: BaseException) -> int:
        """The line of the file that the error came from; 0 if it has nothing to do with the file."""
        if isinstance(error, SyntaxError) and error.filename == self.path:
            return error.lineno or 0
        line = 0
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.path:
                line = trace.tb_lineno or line
            trace = trace.tb_next
        return line


def read_file(path: str) -> bytes:
    try:
        fd = system.open(path, system.O_RDONLY | getattr(system, "O_CLOEXEC", 0) | getattr(system, "O_BINARY", 0)
                         | getattr(system, "O_NOINHERIT", 0) | getattr(system, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        detail = getattr(error, "strerror", None) or error
        raise Failure("tools_file_not_found", f"the tools file can't be opened ({detail})") from None
    try:
        if system.fstat(fd).st_mode & 0o170000 != 0o100000:
            raise Failure("tools_file_not_found", "the path isn't a regular file")
        parts: list[bytes] = []
        size = 0
        while size <= MAX_FILE_BYTES:
            part = system.read(fd, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
    except OSError as error:
        raise Failure("tools_file_not_found", f"the tools file can't be read ({error.strerror})") from None
    finally:
        system.close(fd)
    raise Failure("tools_file_import_failed", f"the tools file is larger than {MAX_FILE_BYTES} bytes")


class Siblings:
    """Imports from the tools file's folder and the folders below it, and the digests of what was loaded."""

    def __init__(self, path: str) -> None:
        end = max(path.rfind(separator) for separator in SEPARATORS)
        self.folder = path[:end] or path[:end + 1]
        self.inside = self.folder.rstrip(SEPARATORS) + SEPARATORS[-1]
        self.loaded: dict[str, str] = {}
        self.foreign: list[str] = []

    def install(self) -> None:
        # The interpreter may live below the folder (a tools file in "/"): its own modules aren't the user's.
        self.foreign = [entry for entry in sys.path if entry.startswith(self.inside)]
        sys.path.append(self.folder)
        sys.path_hooks.insert(0, self.finder)

    def owns(self, path: str) -> bool:
        if path != self.folder and not path.startswith(self.inside):
            return False
        below = path[len(self.inside):].replace("\\", "/").split("/")
        return ("site-packages" not in below and "dist-packages" not in below
                and not any(path == entry or path.startswith(entry + SEPARATORS[-1]) for entry in self.foreign))

    def finder(self, path: str) -> FileFinder:
        if not self.owns(path):
            raise ImportError

        siblings = self

        class Extension(ExtensionFileLoader):
            def create_module(self, spec: ModuleSpec) -> Any:
                siblings.record(self.path, self.get_data(self.path))
                return super().create_module(spec)

        class Source(SourceFileLoader):
            def get_code(self, fullname: str) -> Any:
                data = self.get_data(self.path)
                siblings.record(self.path, data)
                return self.source_to_code(data, self.path)

        return FileFinder(path, (Extension, extension_suffixes()), (Source, [".py"]))

    def record(self, path: str, data: bytes) -> None:
        self.loaded[path[len(self.inside):].replace("\\", "/")] = sha256(data).hexdigest()

    def report(self) -> list[dict[str, str]]:
        return [{"path": readable(path), "sha256": self.loaded[path]} for path in sorted(self.loaded)]


class SitePackages:
    """The last finder: makes installed packages importable when the first module isn't found otherwise.

    The runner starts without them (-S), because most tools need none and finding them takes time.
    """

    def __init__(self) -> None:
        self.folders: list[str] = []  # those that were found, once they were looked for

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if path is not None or name in sys.stdlib_module_names or name == "org":  # org: Jython's, asked for by stdlib modules
            return None
        from edgestudio._site import find
        return find(name, self)


def readable(text: str) -> str:
    """text without lone surrogates (file names may hold bytes that aren't UTF-8)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def import_failure(error: BaseException, file: ToolsFile) -> tuple[str, int]:
    """What to say about an error that loading the file raised, and its line."""
    kind = type(error).__name__
    try:
        detail = (error.msg or "") if isinstance(error, SyntaxError) else str(error)
    except BaseException:
        detail = ""
    message = f"{kind}: {detail[:500]}" if detail else kind
    place = None
    if isinstance(error, SyntaxError) and error.filename:
        place = (error.filename, error.lineno)
    else:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(file.siblings.inside):
                place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            trace = trace.tb_next
    if place is not None and place[0] != file.path:
        message += f" (in {place[0].removeprefix(file.siblings.inside)}, line {place[1]})"
    if isinstance(error, (SyntaxError, ImportError)):
        message += f" (with Python {sys.version.split()[0]} at {sys.executable})"
    return readable(message), file.line_of(error)
