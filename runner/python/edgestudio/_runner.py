"""The runner's side of edge.runner/v1: one request in, one response out, and then the process ends."""
from __future__ import annotations

import sys

from edgestudio import _calling
from edgestudio._discovery import uses_agents
from edgestudio._loading import Failure, ToolsFile, readable
from edgestudio._schema import GENERATOR_VERSION
from edgestudio._values import Oversized, Unsupported, canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

PROTOCOL = "edge.runner/v1"
FRAME_BYTES = 8 << 20


def main(
    read_request: Callable[[], dict[str, Any]], write_frame: Callable[[bytes], None], preload: dict[str, Any] | None,
) -> None:
    _calling.streams.take_over()
    name_the_line_of_a_crash()
    use_the_wait(preload)
    request = read_request()
    if request.get("protocol") != PROTOCOL:
        raise ValueError(f"protocol {request.get('protocol')!r}")
    response = answer(request)
    if request["op"] != "inspect":
        _calling.streams.flush_files()
    _calling.streams.flush_standard()
    write_frame(response)


def name_the_line_of_a_crash() -> None:
    """Where a library crashes the whole process, stderr says in which line of Python."""
    try:
        import faulthandler
        faulthandler.enable(_calling.streams.stderr)
    except (ImportError, OSError, RuntimeError):
        pass


def use_the_wait(preload: dict[str, Any] | None) -> None:
    """Imports what most tools files import, if this runner was started ahead and has nothing to do yet.

    Only modules that load their own submodules: a tool that forgot an import must fail in the same way cold and warm.
    """
    try:
        from select import select
        if select([0], [], [], 0)[0]:
            return
    except (ImportError, OSError, ValueError):
        return
    for name in ("typing", "json", "gc", "resource", "_socket", "edgestudio._probe"):
        try:
            __import__(name)
        except ImportError:
            pass
    if preload:
        from edgestudio._preload import load
        load(preload["folder"], preload["modules"])


def answer(request: dict[str, Any]) -> bytes:
    head = {"protocol": PROTOCOL, "secret": request["secret"]}
    block = b"{}"
    file: ToolsFile | None = None
    try:
        if request.get("probe"):
            from edgestudio._probe import run
            block = canonical(run(request.get("probe_path")), FRAME_BYTES)
        set_limits(request.get("limits") or {})
        if request["op"] == "inspect":
            return joined({**head, "ok": True, "op": "inspect"}, inspection(request), block if request.get("probe") else None)
        if request["op"] not in ("call", "decide"):
            raise Failure("runner_protocol_violation", "the op is none of inspect, call and decide")
        file = opened(request)
        if request["op"] == "decide":
            decision = _calling.decide(request, file)
            return joined({**head, "ok": True, "op": "decide", **decision, "loaded_files": file.siblings.report()}, b"", block)
        result, told = _calling.call(request, file)
        done: dict[str, object] = {**head, "ok": True, "op": "call", "loaded_files": file.siblings.report()}
        if told:
            done["told"] = {"kind": readable(told[:200])}
        return joined(done, b'"result":' + result, block)
    except Failure as failure:
        error: dict[str, object] = {"code": failure.code, "message": readable(failure.message)}
        if failure.line:
            error["line"] = failure.line
        if failure.traceback_sha256:
            error["traceback_sha256"] = failure.traceback_sha256
        failed: dict[str, object] = {**head, "ok": False, "error": error}
        if file is not None:
            failed["loaded_files"] = file.siblings.report()
        return joined(failed, b"", block)


def joined(head: dict[str, Any], more: bytes, sandbox: bytes | None) -> bytes:
    """One JSON object of head's members, more (members already in JSON) and the sandbox block."""
    members = [canonical(head, FRAME_BYTES)[1:-1]]
    if more:
        members.append(more)
    if sandbox is not None:
        members.append(b'"sandbox":' + sandbox)
    return b"{" + b",".join(members) + b"}"


def opened(request: dict[str, Any]) -> ToolsFile:
    file = ToolsFile(request["path"])
    if request.get("source_sha256") not in (None, file.source_sha256):
        raise Failure("tools_file_changed", "the tools file isn't the one that was frozen")
    return file


def inspection(request: dict[str, Any]) -> bytes:
    from edgestudio._inspection import inspect
    file = opened(request)
    findings = inspect(file)
    try:
        found: dict[str, object] = {
            "source_sha256": file.source_sha256, "schema_generator_version": GENERATOR_VERSION,
            "python": sys.version.split()[0], "tools": findings.tools, "errors": findings.errors, "warnings": findings.warnings,
        }
        if findings.agents:
            found["agents"] = findings.agents
        if uses_agents():
            from edgestudio._preload import loaded
            found["preload"] = loaded()
        return canonical(found, FRAME_BYTES - 4096)[1:-1]
    except Unsupported as error:  # tools were looked at before
        raise Failure("invalid_agent", f"the description of an agent holds {error.what} at {error.path()}") from None
    except Oversized:
        raise Failure("unsupported_schema", "the descriptions of the file's tools are larger than 8 MiB") from None


def set_limits(limits: dict[str, Any]) -> None:
    """No core dumps, which would hold the tool's data; and, where the kernel enforces it, a bound on memory."""
    try:
        import resource
    except ImportError:
        return
    wanted = [(resource.RLIMIT_CORE, 0)]
    if sys.platform == "linux" and limits.get("address_space_bytes"):
        wanted.append((resource.RLIMIT_AS, limits["address_space_bytes"]))
    for kind, value in wanted:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(kind, (value, value))
