#!/bin/sh
# Installs the one system library that the engine's binding needs, where it is missing and can be installed.
set -eu
[ "$(uname -s)" = Linux ] || exit 0
if ldconfig -p 2>/dev/null | grep -q 'libffi\.so\.8' || ls /lib/*/libffi.so.8 /usr/lib/*/libffi.so.8 /usr/lib64/libffi.so.8 >/dev/null 2>&1; then
	exit 0
fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && apt-get install -y -qq libffi8 >/dev/null
	exit 0
fi
echo "edge needs libffi.so.8: install it (Debian, Ubuntu: sudo apt-get install libffi8)" >&2
