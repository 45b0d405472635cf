#!/usr/bin/env bash
#
# Asks livezone through systemd-resolved, in a mount and a network namespace of its own, with a bus of its own.
#
#     sudo test/resolvers/systemd-resolved.sh
#
# Needs root, a build, dbus-daemon, dig, and the program systemd-resolved: /lib/systemd/systemd-resolved, or the one that
# LIVEZONE_RESOLVED names. The package may be taken apart instead of installed (installing it changes the machine's
# resolv.conf): apt-get download systemd-resolved && dpkg -x systemd-resolved_*.deb FOLDER.
# Prints what each question came to, one line each.

set -euo pipefail

main=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../dist/main.js")
resolved=${LIVEZONE_RESOLVED:-/lib/systemd/systemd-resolved}

if [[ ${1:-} != inside ]]; then
  [[ -x $resolved ]] || { echo "$resolved is not installed" >&2; exit 2; }
  exec unshare --net --mount -- "${BASH_SOURCE[0]}" inside
fi

work=$(mktemp -d)
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  umount /run 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work"

# It asks only through an interface with a route, and no server on loopback.
ip link set lo up
ip link add outside type veth peer name inside
ip addr add 198.18.0.1/24 dev outside
ip link set outside up
ip link set inside up
ip route add default via 198.18.0.2 dev outside

mount -t tmpfs none /run
mkdir -p /run/dbus /run/systemd/resolve /run/systemd/resolved.conf.d
# It becomes this user, whom the package would have made.
for file in passwd group; do
  cp "/etc/$file" "$file"
  grep -q '^systemd-resolve:' "$file" || case $file in
    passwd) echo 'systemd-resolve:x:65533:65533::/:/usr/sbin/nologin' >>passwd ;;
    group) echo 'systemd-resolve:x:65533:' >>group ;;
  esac
  mount --bind "$file" "/etc/$file"
done
chown systemd-resolve: /run/systemd/resolve
cat >/run/systemd/resolved.conf.d/livezone.conf <<'CONF'
[Resolve]
DNS=198.18.0.1:5399
Domains=~.
DNSSEC=no
LLMNR=no
MulticastDNS=no
DNSStubListener=yes
CONF
cat >bus.conf <<'CONF'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_type="method_call"/>
  </policy>
</busconfig>
CONF
cat >livezone.yaml <<'CONF'
listen: ["198.18.0.1:5399"]
admin: { socket: admin.sock }
zones: [zone.yaml]
CONF
cat >zone.yaml <<'CONF'
zone: k8s.example.com
nameservers: { ns1: 192.0.2.53 }
records: |
  www 60 IN CNAME api
  *.wild 60 IN TXT "wild"
  registry 60 IN A 192.0.2.20
endpoints:
  api: { targets: { cp1: 192.0.2.11, cp2: [192.0.2.12, "2001:db8::12"] }, probe: { type: none } }
CONF

dbus-daemon --config-file=bus.conf --nofork --nopidfile >bus.log 2>&1 &
pids+=($!)
node "$main" serve >livezone.log 2>&1 &
pids+=($!)

# Waits until a command succeeds, 10 s at most.
until_true() {
  for _ in $(seq 200); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.05
  done
  echo "in vain: $*" >&2
  cat bus.log livezone.log resolved.log >&2 || true
  exit 1
}
answers() { dig "$@" +time=1 +tries=1 | grep -q 'status: NOERROR'; }

until_true test -S /run/dbus/system_bus_socket
until_true answers @198.18.0.1 -p 5399 api.k8s.example.com
"$resolved" >resolved.log 2>&1 &
pids+=($!)
until_true answers @127.0.0.53 api.k8s.example.com

ask() {
  local reply
  reply=$(dig @127.0.0.53 "$@" +time=5 +tries=1)
  local status
  status=$(sed -n 's/.*status: \([A-Z]*\),.*/\1/p' <<<"$reply")
  echo "$*: $status $(sed -n '/ANSWER SECTION/,/^$/p' <<<"$reply" | grep -v '^;' | awk 'NF { print $4 "=" $NF }' | sort | tr '\n' ' ')"
}
ask api.k8s.example.com A
ask api.k8s.example.com AAAA
ask www.k8s.example.com A
ask _https._tcp.api.k8s.example.com SRV +tcp
ask a.wild.k8s.example.com TXT
ask registry.k8s.example.com AAAA
ask nothing.k8s.example.com A

now() { date +%s%3N; }
is_answered() { dig @127.0.0.53 api.k8s.example.com +short | grep -qx 192.0.2.12; }
is_withdrawn() { ! is_answered; }
livezone() { node "$main" "$@" --admin admin.sock >/dev/null; }
until_true is_answered
began=$(now)
livezone drain api.k8s.example.com cp2 --force
until_true is_withdrawn
echo "withdrawn after $(($(now) - began)) ms"
began=$(now)
livezone undrain api.k8s.example.com cp2
until_true is_answered
echo "back after $(($(now) - began)) ms"
