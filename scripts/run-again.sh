#!/bin/sh
# Runs a test, `run-again.sh <name> <command...>`; one that fails runs once more, and what it wrote the first time
# is in comments before the second. Why: docs/decisions/2026-11-26-a-failed-test-runs-once-more.md
name=$1
shift
first=$(mktemp) || exit
trap 'rm -f "$first"' EXIT
if "$@" >"$first"; then
  cat "$first"
else
  echo "# failed at first: $name"
  sed 's/^/# | /' "$first"
  "$@"
fi
