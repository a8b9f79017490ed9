#!/bin/sh
# Installs Chromium, which the tests of computer use drive, where it is missing and can be installed.
set -eu
for name in "${EDGE_CHROMIUM:-chromium}" chromium-browser google-chrome; do
	! command -v "$name" >/dev/null 2>&1 || exit 0
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null
	exit 0
fi
echo "the tests of computer use need Chromium: install it (Debian, Ubuntu: sudo apt-get install chromium), or set EDGE_CHROMIUM" >&2
