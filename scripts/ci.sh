#!/bin/sh
# Runs the suite and fails on any skipped test: here the engine, the model and Python are all required.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
make test GOFLAGS="${GOFLAGS:-} -v" >"$log" 2>&1 || status=$?
grep -E '^(ok|FAIL|---? FAIL|panic:|[0-9]+ (passed|failed)|=+ .*(passed|failed|error).*=+|make: )' "$log" || true
skips=$(grep -cE '^ *--- SKIP|[0-9]+ skipped' "$log" || true)
if [ "$skips" != 0 ]; then
	grep -E '^ *--- SKIP|[0-9]+ skipped' "$log"
	echo "skipped tests count as failures here"
	status=1
fi
if [ "$status" != 0 ]; then
	tail -n 60 "$log"
fi
exit "$status"
