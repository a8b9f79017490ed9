#!/bin/sh
# The main job, once through: learn the tools, chat from the imprint, and see what it refuses.
set -eu
cd "$(dirname "$0")"
edge=../bin/edge
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
say() { printf '\n\033[1m%s\033[0m\n' "$1"; }

say "1. Learn three Python functions (examples/tools.py), once"
$edge demo learn run --sample-file learn_sample.json --tools tools.py --out "$dir/shop.imprint"

say "2. Ask, restored from the imprint: the model calls calculate_fee"
$edge demo chat --with-imprint "$dir/shop.imprint" --tools tools.py --prompt "What is the fee for 400, pro tier?"

say "3. The same question without the imprint: the contract is read again, and nothing was learned"
$edge demo chat --tools tools.py --prompt "What is the fee for 400, pro tier?"

say "4. A commit tool waits for a person"
$edge demo chat --with-imprint "$dir/shop.imprint" --tools tools.py --prompt "cancel order K-9"

say "5. One word of a description changed: refused, not guessed"
sed 's/service fee/handling fee/' tools.py >"$dir/tools.py"
$edge demo chat --with-imprint "$dir/shop.imprint" --tools "$dir/tools.py" --prompt "What is the fee for 400?" || echo "   (exit status $?)"
