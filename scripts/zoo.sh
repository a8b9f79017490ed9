#!/bin/sh
# Builds EDGE_HOME/zoo: a tiny model of random weights for every architecture that llama.cpp's own test program can make.
# The source is that of llama.cpp v0.5.0, as the source distribution of llama-cpp-python carries it. Of it only the
# library is compiled, without optimisation that nothing here needs; testdata/zoo/zoo.cpp does the rest.
set -eu
version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
home=${EDGE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/edge}
zoo=$home/zoo
here=$(cd "$(dirname "$0")/.." && pwd)
[ ! -f "$zoo/made-from-$version" ] || exit 0

for tool in cmake c++ sha256sum "${PYTHON:=python3}"; do
	command -v "$tool" >/dev/null || { echo "make zoo needs $tool (Debian, Ubuntu: sudo apt-get install cmake g++)" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

"$PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
	--dest "$work" "llama-cpp-python==$version"
archive=$work/llama_cpp_python-$version.tar.gz
echo "$sha256  $archive" | sha256sum --check --quiet
tar -xzf "$archive" -C "$work"
source=$work/llama_cpp_python-$version/vendor/llama.cpp

cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O0 \
	-DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF -DLLAMA_BUILD_COMMON=OFF \
	-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF >"$work/log" 2>&1 &&
	cmake --build "$work/build" --target llama -j "${JOBS:-2}" >>"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }

# Smaller than llama.cpp makes them, with room for prefixes of 300 tokens beyond a window of 32, and no tokenizer.
change() {
	grep -qF -- "$1" "$work/archs.cpp" || { echo "zoo: \"$1\" isn't in llama.cpp's test program" >&2; exit 1; }
	sed -i "s|$1|$2|" "$work/archs.cpp"
}
cp "$source/tests/test-llama-archs.cpp" "$work/archs.cpp"
change 'n_ctx = 256;' 'n_ctx = 512;'
change 'n_ctx/8);' 'uint32_t(32));'
change 'n_embd  = 256;' 'n_embd  = 128;'
change 'n_ff    = 384;' 'n_ff    = 192;'
change '"test");' '"none");'

ggml=$work/build/ggml/src
c++ -std=c++17 -O1 -w -I"$work" -I"$source/common" -I"$source/tests" -I"$source/include" -I"$source/ggml/include" -I"$source/src" \
	"$here/testdata/zoo/zoo.cpp" -o "$work/zoo" \
	"$work/build/src/libllama.a" "$ggml/libggml.a" "$ggml/libggml-cpu.a" "$ggml/libggml-base.a" -lpthread -ldl
mkdir -p "$home" "$work/out"
"$work/zoo" "$work/out" >"$work/out/made-from-$version" 2>/dev/null
rm -rf "$zoo"
mv "$work/out" "$zoo"
tail -n 1 "$zoo/made-from-$version"

# The models of the tree are some of these.
same=0 all=0
for model in "$here"/testdata/zoo/*.gguf; do
	all=$((all + 1))
	! cmp -s "$model" "$zoo/${model##*/}" || same=$((same + 1))
done
echo "$same of $all models of testdata/zoo are the same bytes"
