"""Builds Ollama from its Go module, once, into EDGE_HOME/peers.

Its module lacks headers of three libraries that llama.cpp carries; they come from the source tree that llama-server is built
from. Without the compiler's optimisation it is some twenty times slower.
"""
import json
import os
import shutil
import subprocess
import sys

VERSION = "v0.24.0"
SUM = "h1:CBZ0ffE+cxMWRWau5yD5vXHkiZHAeuxLk+3j55u0XxQ="
MODULE = "github.com/ollama/ollama"


def build(folder, source, go="go", jobs=2):
    """Gives the program's path, and builds it where it isn't there. source is llama.cpp's source tree."""
    target = os.path.join(folder, f"ollama-{VERSION[1:]}", "ollama")
    if os.path.exists(target):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    got = json.loads(subprocess.run([go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], check=True, capture_output=True, text=True).stdout)
    if got["Sum"] != SUM:
        raise SystemExit(f"{MODULE}@{VERSION}: got {got['Sum']}, want {SUM}")
    vendor = os.path.join(source, "vendor")
    flags = "-O3 -march=native"
    env = dict(os.environ, CGO_ENABLED="1", GOFLAGS=f"-p={jobs}", CGO_CFLAGS=flags, CGO_CXXFLAGS=flags,
               CGO_CPPFLAGS=" ".join(f"-I{p}" for p in (vendor, *(os.path.join(vendor, d) for d in ("nlohmann", "miniaudio", "stb")))))
    command = [go, "build", "-trimpath", f"-ldflags=-X={MODULE}/version.Version={VERSION[1:]}", "-o", target + ".part", "."]
    if shutil.which("nice"):
        command = ["nice", "-n", "19", *command]
    print("+", " ".join(command), file=sys.stderr)
    subprocess.run(command, check=True, cwd=got["Dir"], env=env)
    os.replace(target + ".part", target)
    return target
