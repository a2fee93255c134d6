#!/usr/bin/env bash
# Renders the Helm chart into the mx server manifests for installations without Helm. --check only compares them.
set -euo pipefail
cd "$(dirname "$0")/.."

chart=deploy/helm/mx
status=0
for storage in embedded external; do
  file=deploy/kubernetes/server-$storage.yaml
  rendered=$(
    echo "# Rendered from $chart by scripts/render-manifests.sh. How it is installed: docs/operations.md."
    helm template mx-server "$chart" --namespace mx --values "$chart/ci/server-$storage-values.yaml"
  )
  if [ "${1:-}" != --check ]; then
    echo "$rendered" >"$file"
  elif ! diff -u "$file" <(echo "$rendered"); then
    echo "$file is stale: run scripts/render-manifests.sh" >&2
    status=1
  fi
done
exit "$status"
