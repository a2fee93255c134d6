#!/usr/bin/env bash
# Installs the programs that tests and benchmarks run against the gateway, with apt.
# Installed ones are left alone. --check installs nothing and prints what is there;
# its exit status is 1 when something is missing.
set -euo pipefail

# program=package
wanted=(
  nginx=nginx-light
  haproxy=haproxy
  caddy=caddy
  wrk=wrk
  chromium=chromium
  curl=curl
  python3=python3
)

# Debian keeps servers where ordinary users do not look.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

missing=()
for entry in "${wanted[@]}"; do
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
  echo "no apt-get here: install these with the system's package manager: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "run as root: apt-get install ${missing[*]}" >&2
  exit 1
fi

# Tests start servers themselves, on free ports: the packages must not start theirs on port 80.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "${missing[@]}"
