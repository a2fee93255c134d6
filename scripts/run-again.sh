#!/bin/sh
# Runs a test: `run-again.sh <name> <node> <file>`. A failed test is retried once with source maps, and the output of the
# first attempt is printed as comments before the output of the second.
# See docs/decisions/2026-11-26-a-failed-test-runs-once-more.md
name=$1
shift
first=$(mktemp) || exit
trap 'rm -f "$first"' EXIT
# The test runner would terminate only this shell if the test hangs, so a timeout terminates the test itself.
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
# In a group (`scripts/test-group.ts`), only the failed files are retried.
failed=$(sed -nE 's/^not ok [0-9]+ - (test\/[^ ]+).*/\1/p' "$first")
if [ -n "${MX_TESTS:-}" ] && [ -n "$failed" ]; then
  MX_TESTS=$(echo $failed)
  export MX_TESTS
fi
rm -f "$first"
node=$1
shift
exec "$node" --enable-source-maps "$@"
