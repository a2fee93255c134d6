#!/bin/sh
# Runs a test, `run-again.sh <name> <node> <file>`; one that fails runs once more, with source maps, and what it wrote the first time
# is in comments before the second. Why: docs/decisions/2026-11-26-a-failed-test-runs-once-more.md
name=$1
shift
first=$(mktemp) || exit
trap 'rm -f "$first"' EXIT
# The runner ends what hangs, and would end this shell alone.
limit=
if timeout --foreground 1 true 2>/dev/null; then
  limit="timeout --foreground -k 5 $((${TAP_TIMEOUT:-30} + 10))"
fi
if $limit "$@" >"$first"; then
  cat "$first"
  exit
fi
echo "# failed at first: $name"
sed 's/^/# | /' "$first"
# Of a group (`scripts/test-group.ts`) only the files that failed run again.
failed=$(sed -nE 's/^not ok [0-9]+ - (test\/[^ ]+).*/\1/p' "$first")
if [ -n "${MX_TESTS:-}" ] && [ -n "$failed" ]; then
  MX_TESTS=$(echo $failed)
  export MX_TESTS
fi
rm -f "$first"
node=$1
shift
exec "$node" --enable-source-maps "$@"
