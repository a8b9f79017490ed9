"""Gets llama-server and llama-cpp-python out of one source distribution and builds them once.

Everything goes to a folder of its own (EDGE_HOME/peers); what lies there already is used again.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile

NAME, VERSION = "llama-cpp-python", "0.3.36"  # its vendor folder is llama.cpp 0.5.0
FILE = "llama_cpp_python-0.3.36.tar.gz"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
PYTHON_NEEDS = ["numpy", "diskcache", "jinja2", "typing_extensions"]
# The whole instruction set of this processor, and nothing that isn't needed.
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release", "BUILD_SHARED_LIBS": "ON", "GGML_NATIVE": "ON", "GGML_RPC": "OFF", "LLAMA_OPENSSL": "OFF",
    "LLAMA_BUILD_UI": "OFF", "LLAMA_USE_PREBUILT_UI": "OFF", "LLAMA_BUILD_TESTS": "OFF", "LLAMA_BUILD_EXAMPLES": "OFF",
    "LLAMA_BUILD_APP": "OFF", "LLAMA_BUILD_TOOLS": "ON", "LLAMA_BUILD_SERVER": "ON", "LLAMA_ALL_WARNINGS": "OFF",
}


class Built:
    """Where the peers lie."""

    def __init__(self, folder):
        self.source = os.path.join(folder, FILE.removesuffix(".tar.gz"))
        self.bin = os.path.join(folder, "build", "bin")
        self.server = os.path.join(self.bin, "llama-server")
        self.python = os.path.join(folder, "python")


def run(*command, low=False):
    print("+", " ".join(command), file=sys.stderr)
    if low and shutil.which("nice"):
        command = ("nice", "-n", "19", *command)
    subprocess.run(command, check=True, stdout=sys.stderr)


def checked(path, want):
    """Refuses a file with another digest."""
    with open(path, "rb") as f:
        got = hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest()
    if got != want:
        raise SystemExit(f"{path}: got sha256 {got}, want {want}")
    return path


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder)


def build(folder, jobs=2):
    """Gives what is built, and builds what isn't."""
    os.makedirs(folder, exist_ok=True)
    built = Built(folder)
    if not os.path.isdir(built.source):
        archive = os.path.join(folder, FILE)
        if not os.path.exists(archive):
            run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", NAME, "--dest", folder, f"{NAME}=={VERSION}")
        unpack(checked(archive, SHA256), folder)
    if not os.path.exists(built.server):
        tree = os.path.join(folder, "build")
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        run("cmake", "-S", os.path.join(built.source, "vendor", "llama.cpp"), "-B", tree, *generator, *(f"-D{k}={v}" for k, v in OPTIONS.items()))
        run("cmake", "--build", tree, "--target", "llama-server", "--parallel", str(jobs), low=True)
    if not os.path.isdir(built.python):
        run(sys.executable, "-m", "pip", "install", "--quiet", "--target", built.python, *PYTHON_NEEDS)
    return built
