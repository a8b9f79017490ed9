"""What this very process can do, found out by trying. Every answer is "allowed", "denied" or "unknown"."""
from __future__ import annotations

from errno import EACCES, EAFNOSUPPORT, EPERM, EPROTONOSUPPORT, EROFS

from edgestudio._system import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

DENIALS = (EPERM, EACCES, EROFS)
NO_SUCH_FAMILY = (EAFNOSUPPORT, EPROTONOSUPPORT)
DISCARD_PORT = 9


def run(path: object) -> dict[str, object]:
    found: dict[str, object] = {
        "write_outside": write_outside(path) if type(path) is str and path else "unknown",
        "tcp": "unknown", "udp": "unknown", "unix": "unknown", "start_process": start_process(),
    }
    try:
        import _socket
    except ImportError:
        pass
    else:
        found["tcp"] = internet(_socket, _socket.SOCK_STREAM)
        found["udp"] = internet(_socket, _socket.SOCK_DGRAM)
        if hasattr(_socket, "AF_UNIX"):
            found["unix"] = attempt(lambda: _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM).close(), NO_SUCH_FAMILY)
    found["seccomp_mode"], found["no_new_privs"] = kernel_says()
    return found


def attempt(action: Callable[[], object], also_denied: tuple[int, ...] = ()) -> str:
    try:
        action()
    except OSError as error:
        return "denied" if error.errno in DENIALS + also_denied else "unknown"
    return "allowed"


def write_outside(path: str) -> str:
    def write() -> None:
        flags = system.O_WRONLY | system.O_CREAT | system.O_EXCL | getattr(system, "O_NOFOLLOW", 0)
        system.close(system.open(path, flags, 0o600))
        system.unlink(path)

    return attempt(write)


def internet(sockets: Any, kind: int) -> str:
    """Allowed if either family can be used. A refused connection was allowed to be tried; nothing is sent."""
    answers = []
    families = [(sockets.AF_INET, ("127.0.0.1", DISCARD_PORT))]
    if hasattr(sockets, "AF_INET6"):
        families.append((sockets.AF_INET6, ("::1", DISCARD_PORT)))
    for family, address in families:
        try:
            end = sockets.socket(family, kind)
        except OSError as error:
            answers.append("denied" if error.errno in DENIALS + NO_SUCH_FAMILY else "unknown")
            continue
        try:
            end.setblocking(False)
            end.connect(address)
            answers.append("allowed")
        except OSError as error:
            answers.append("denied" if error.errno in DENIALS else "allowed")
        finally:
            end.close()
    return "allowed" if "allowed" in answers else answers[0]


def start_process() -> str:
    if not hasattr(system, "fork"):
        return "unknown"

    def fork() -> None:
        child = system.fork()
        if child == 0:
            system._exit(0)
        system.waitpid(child, 0)

    return attempt(fork)


def kernel_says() -> tuple[object, object]:
    mode: object = "unknown"
    privileges: object = "unknown"
    try:
        fd = system.open("/proc/self/status", system.O_RDONLY | system.O_CLOEXEC)
        try:
            lines = system.read(fd, 1 << 16).splitlines()
        finally:
            system.close(fd)
        for line in lines:
            label, _, value = line.partition(b":")
            if label == b"Seccomp":
                mode = int(value)
            elif label == b"NoNewPrivs":
                privileges = int(value) == 1
    except (OSError, AttributeError, ValueError):
        pass
    return mode, privileges
