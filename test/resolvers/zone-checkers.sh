#!/usr/bin/env bash
#
# Has zonemaster-cli and dnsviz judge a zone of livezone, in a network namespace of its own.
#
#     sudo test/resolvers/zone-checkers.sh
#
# Needs root, a build, and from Debian: knot, knot-dnsutils, zonemaster-cli, dnsviz. Prints what is worse than a NOTICE,
# and exits 1 if anything is an ERROR or CRITICAL. Inside the namespace, addresses of the public Internet stand for two
# networks, since the checkers refuse others; nothing leaves it.

set -euo pipefail

main=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../dist/main.js")

if [[ ${1:-} != inside ]]; then
  for program in knotd kdig zonemaster-cli dnsviz; do
    command -v "$program" >/dev/null || { echo "$program is not installed" >&2; exit 2; }
  done
  exec unshare --net -- "${BASH_SOURCE[0]}" inside
fi

work=$(mktemp -d)
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work"

ip link set lo up
for address in 9.20.0.1 9.20.0.2 9.20.1.53 9.30.2.53; do ip addr add "$address/32" dev lo; done
for address in 2610:20::1 2610:20::2 2610:21::53 2610:31::53; do ip -6 addr add "$address/128" dev lo nodad; done

nameservers='a.ns.example. A 9.20.0.1
b.ns.example. A 9.20.0.2
a.ns.example. AAAA 2610:20::1
b.ns.example. AAAA 2610:20::2
a.root-servers.example. A 9.20.0.1
b.root-servers.example. A 9.20.0.2'

cat >root <<ZONE
\$ORIGIN .
\$TTL 86400
@ SOA a.root-servers.example. nobody.example. 1 7200 3600 1209600 3600
@ NS a.root-servers.example.
@ NS b.root-servers.example.
example. NS a.ns.example.
example. NS b.ns.example.
$nameservers
ZONE

cat >parent <<ZONE
\$ORIGIN example.
\$TTL 86400
@ SOA a.ns hostmaster 1 7200 3600 1209600 3600
@ NS a.ns
@ NS b.ns
k8s NS ns1.k8s
k8s NS ns2.k8s
ns1.k8s A 9.20.1.53
ns1.k8s AAAA 2610:21::53
ns2.k8s A 9.30.2.53
ns2.k8s AAAA 2610:31::53
$nameservers
ZONE

cat >knot.conf <<CONF
server:
  rundir: "$work"
  listen: [ 9.20.0.1@53, 9.20.0.2@53, 2610:20::1@53, 2610:20::2@53 ]
database:
  storage: "$work"
log:
  - target: stderr
    any: warning
zone:
  - domain: .
    file: "$work/root"
    zonefile-sync: -1
  - domain: example.
    file: "$work/parent"
    zonefile-sync: -1
CONF

cat >livezone.yaml <<'YAML'
listen: ["9.20.1.53:53", "[2610:21::53]:53", "9.30.2.53:53", "[2610:31::53]:53"]
zones: zone.yaml
YAML
cat >zone.yaml <<'YAML'
zone: k8s.example
nameservers: { ns1: [9.20.1.53, "2610:21::53"], ns2: [9.30.2.53, "2610:31::53"] }
records: |
  registry 300 IN A     9.20.1.99
  *.wild    60 IN A     9.20.1.98
  www       60 IN CNAME api
endpoints:
  api:
    targets: { cp1: 9.20.1.11, cp2: 9.20.1.12, cp3: [9.20.1.13, "2610:21::13"] }
    probe: { type: none }
YAML

cat >hints <<'ZONE'
. 3600000 NS a.root-servers.example.
. 3600000 NS b.root-servers.example.
a.root-servers.example. 3600000 A 9.20.0.1
b.root-servers.example. 3600000 A 9.20.0.2
ZONE

knotd -c knot.conf 2>knot.log &
pids+=($!)
node "$main" serve --config livezone.yaml >livezone.log 2>&1 &
pids+=($!)
for ((i = 0; i < 100; i++)); do
  if [[ -n $(kdig +short +timeout=1 +retry=0 @9.20.1.53 api.k8s.example 2>/dev/null) ]]; then break; fi
  sleep 0.1
done

failed=0

echo "== zonemaster-cli $(zonemaster-cli --version | head -n1)"
zonemaster-cli --hints hints --level WARNING --no-progress --show_testcase k8s.example | tee zonemaster.txt
if grep -qE ' (ERROR|CRITICAL) ' zonemaster.txt; then failed=1; fi

echo "== dnsviz"
dnsviz probe -A -a . -x '.:a.root-servers.example=9.20.0.1,b.root-servers.example=9.20.0.2' \
  k8s.example api.k8s.example wild.k8s.example >dnsviz.json 2>dnsviz.log
dnsviz grok -l warning <dnsviz.json | tee dnsviz.txt
if [[ -s dnsviz.txt ]]; then failed=1; fi

if ((failed == 0)); then echo "no ERROR, no CRITICAL"; fi
((failed == 0))
