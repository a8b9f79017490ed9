# Bootstrap of edge.runner/v1, given to `python -I -S -B -c`. It owns the descriptors: fd 1 becomes private to the
# protocol before anything else runs, so nothing that is printed can reach it; fd 0 is empty once the request is read.
# It stays valid for old interpreters, so that a wrong one is named instead of failing on syntax.
import sys

if sys.version_info < (3, 10):
    sys.stderr.write("edge needs Python 3.10 or newer; %s is %d.%d. Point EDGE_PYTHON at a newer one.\n"
                     % ((sys.executable or "this Python",) + tuple(sys.version_info[:2])))
    sys.exit(3)


def boot():
    try:
        import posix as system
    except ImportError:
        import nt as system
    read, write, dup2, leave = system.read, system.write, system.dup2, system._exit
    private = system.dup(1)
    dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt
        for fd in (0, private):
            msvcrt.setmode(fd, system.O_BINARY)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    limit, owner = 8 << 20, system.getpid()

    def take(count):
        parts = []
        while count:
            part = read(0, min(count, 1 << 20))
            if not part:
                if not parts:
                    return b""
                raise EOFError("a frame was cut short")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def read_frame():
        header = take(4)
        if not header:
            leave(0)  # the caller went away, or had no work for a runner that was started ahead
        size = int.from_bytes(header, "big")
        if len(header) < 4 or not 0 < size <= limit:
            raise ValueError("a frame of %d bytes" % size)
        frame = take(size)
        if len(frame) < size:
            raise EOFError("a frame was cut short")
        return parse(frame.decode("utf-8").strip(" \t\r\n"))

    def read_request():
        request = read_frame()
        null = system.open("nul" if sys.platform == "win32" else "/dev/null", system.O_RDONLY)
        if null != 0:
            dup2(null, 0)
            system.close(null)
        return request

    def write_frame(body):
        if system.getpid() != owner:
            leave(0)  # a copy of this process, forked by the tool, has nothing to answer
        if len(body) > limit:
            raise ValueError("a frame of %d bytes" % len(body))
        data = memoryview(len(body).to_bytes(4, "big") + body)
        while data:
            data = data[write(private, data):]

    def parse(text):
        def refuse(name):
            raise ValueError("%s in a frame" % name)
        try:
            from _json import make_scanner  # the module json would first import re, which takes as long as all the rest
        except ImportError:
            from json import loads
            return loads(text, parse_constant=refuse)

        class Options:
            strict, object_hook, object_pairs_hook, parse_float, parse_int, parse_constant = (
                True, None, None, float, int, staticmethod(refuse))
        value, end = make_scanner(Options)(text, 0)
        if end != len(text):
            raise ValueError("more than one value in a frame")
        return value

    try:
        hello = read_frame()
        if hello.get("protocol") != "edge.runner/v1":
            raise ValueError("protocol %r" % (hello.get("protocol"),))
        sys.meta_path.insert(0, Embedded(hello["modules"]))
        from edgestudio._runner import main
        main(read_request, write_frame, hello.get("preload"))
        status = 0
    except BaseException as error:
        sys.stderr.write("edge: the runner failed: %s: %s\n" % (type(error).__name__, error))
        status = 4
    leave(status)  # not sys.exit: a thread that the tool left behind must not hold up the end


class Embedded:
    """Serves the package edgestudio from the first frame, before anything that is installed."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        from _frozen_importlib import ModuleSpec
        package = any(other.startswith(name + ".") for other in self.sources)
        return ModuleSpec(name, self, origin="<edge>/" + name, is_package=package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__spec__.name
        exec(compile(self.sources[name], "<edge>/" + name, "exec", 0, True), module.__dict__)

    def get_source(self, name):
        return self.sources[name]


boot()
