#!/usr/bin/env bash
# Verifies that the package runs on a machine without compilers: packs the built checkout, installs it with `npm i -g`
# into an empty folder, with an empty home folder and a PATH that contains little more than node and npm, and runs it.
# Requires network access. Argument: package to test (default: this checkout, which must be built).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
  rm -rf "$folder"
}
trap end EXIT

package=${1:-}
if [ -z "$package" ]; then
  package=$folder/$(cd "$root" && npm pack --silent --ignore-scripts --pack-destination "$folder")
fi

# The PATH contains no compiler, make, Python or git.
mkdir "$folder/bin" "$folder/home" "$folder/work"
for program in node npm npx sh env uname cat ldd dirname sed; do
  ln -s "$(command -v "$program")" "$folder/bin/$program"
done
node=$(dirname "$(readlink -f "$(command -v node)")")
clean=(env -i "HOME=$folder/home" "PATH=$folder/prefix/bin:$folder/bin" "TMPDIR=$folder/work")
# Network settings of this machine: registry mirror, proxy, and additional certificate authorities.
network=("npm_config_registry=$(npm config get registry)")
for name in HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_EXTRA_CA_CERTS; do
  if [ -n "${!name:-}" ]; then network+=("$name=${!name}"); fi
done
for word in cc gcc make python3 git; do
  if "${clean[@]}" sh -c "command -v $word" >/dev/null; then echo "$word is on the path"; exit 1; fi
done

cd "$folder/work"
echo "== npm i -g $(basename "$package")"
"${clean[@]}" "${network[@]}" npm i -g --prefix "$folder/prefix" --no-audit --no-fund "$package"

echo "== mx --version"
"${clean[@]}" mx --version

# Waits for a log line and prints the URL in it.
await() {
  for _ in $(seq 300); do
    if line=$(grep -m1 "$2" "$1"); then sed -nE 's/.*"(url|gateway)":"([^"]*)".*/\2/p' <<<"$line"; return; fi
    sleep 0.1
  done
  cat "$1"
  return 1
}

for listener in uws node; do
  echo "== mx api --listener=$listener"
  "${clean[@]}" mx api --listener=$listener --backend=app=127.0.0.1:9 --address=127.0.0.1:0 --admin_address=none --access_log=off 2>"$listener.log" &
  pids+=($!)
  url=$(await $listener.log '"msg":"gateway ready"')
  if ! grep -q "\"listener\":\"$listener\"" $listener.log || grep -q '"level":[45]0' $listener.log; then cat $listener.log; exit 1; fi
  "${clean[@]}" node -e "fetch('$url').then(async (reply) => { console.log(reply.status, await reply.text()); process.exit(reply.ok ? 0 : 1) })"
done

echo "== mx server"
"${clean[@]}" mx server --address=127.0.0.1:0 --proxy_address=127.0.0.1:0 --web_address=127.0.0.1:0 --admin_address=none --access_log=off \
  >server.out 2>server.log &
pids+=($!)
await server.log '"msg":"server ready"' >server.url
cat server.url
echo "the package runs, by $node/node"
