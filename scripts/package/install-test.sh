#!/usr/bin/env bash
#
# Tries the Debian packages in fresh trees of Debian 12 and 13: install, check, serve, upgrade under load, remove, purge.
#
#     scripts/package/install-test.sh OLD.deb NEW.deb [SUITE ...]
#
# Needs root, debootstrap and Node.js. The trees are made once, in /var/cache/livezone-trees (or $LIVEZONE_TREES). Everything runs in a
# network namespace of its own. systemd is not there in a chroot: a small stand-in starts what the units' ExecStart say.

set -euo pipefail
old=$(realpath "$1") new=$(realpath "$2")
shift 2
suites=("$@")
((${#suites[@]})) || suites=(bookworm trixie)
trees=${LIVEZONE_TREES:-/var/cache/livezone-trees}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

# The rest runs in a network of its own, so that no port of this machine is touched.
if [[ -z ${LIVEZONE_OWN_NETWORK:-} ]]; then
  for suite in "${suites[@]}"; do
    [[ -d $trees/$suite ]] || debootstrap --variant=minbase "$suite" "$trees/$suite" >/dev/null
  done
  exec env LIVEZONE_OWN_NETWORK=1 unshare --net --mount --fork bash "${BASH_SOURCE[0]}" "$old" "$new" "${suites[@]}"
fi
ip link set lo up

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

files_of() { (cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run/systemd -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/dpkg \) -prune -o -print | sort); }

stop_all() {
  local pid
  for pid in "$tree"/run/stub/*.pid; do
    if [[ -e $pid ]]; then kill "$(cat "$pid")" 2>/dev/null || true; fi
  done
}

try() {
  local suite=$1
  tree=$(mktemp -d)
  cp -a "$trees/$suite/." "$tree"
  mount -t proc proc "$tree/proc"
  mount --bind /dev "$tree/dev"
  trap 'stop_all; umount -l "$tree/proc" "$tree/dev"; rm -rf "$tree"' RETURN
  cp "$here/systemctl-stub.sh" "$tree/usr/bin/systemctl"
  mkdir -p "$tree/run/systemd/system" "$tree/run/stub"
  cp "$old" "$tree/tmp/old.deb"
  cp "$new" "$tree/tmp/new.deb"
  files_of "$tree" >"$tree/tmp/before"
  local enter=(chroot "$tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)

  "${enter[@]}" dpkg -i /tmp/old.deb >/dev/null
  "${enter[@]}" livezone check >/dev/null || fail "$suite: check"
  [[ -e $tree/run/stub/livezone.service.pid ]] && fail "$suite: a first installation started the service"
  # Something to answer: this machine itself.
  sed -i 's/192.0.2.1[123]/127.0.0.1/; s/port: 6443/port: 9853/; s/^zone:/allowSpecialAddresses: true\n&/' \
    "$tree/etc/livezone/zones/k8s.example.com.yaml"
  sed -i '/cp2:\|cp3:/d' "$tree/etc/livezone/zones/k8s.example.com.yaml"
  local started
  started=$(date +%s%N)
  "${enter[@]}" systemctl start livezone.service
  node "$here/query-load.mjs" 127.0.0.1 53 api.k8s.example.com --first || fail "$suite: $(cat "$tree"/run/stub/*.log)"
  echo "$suite: first answer $((($(date +%s%N) - started) / 1000000)) ms after the start"
  local first_pid
  first_pid=$(cat "$tree/run/stub/livezone.service.pid")

  node "$here/query-load.mjs" 127.0.0.1 53 api.k8s.example.com >"$tree/tmp/load" &
  local load=$!
  sleep 1
  "${enter[@]}" dpkg -i /tmp/new.deb >/dev/null
  sleep 1
  kill -TERM "$load"
  wait "$load" || fail "$suite: the load: $(cat "$tree/tmp/load")"
  echo "$suite: upgrade under load: $(cat "$tree/tmp/load")"
  [[ $(cat "$tree/run/stub/livezone.service.pid") != "$first_pid" ]] || fail "$suite: the upgrade did not restart"
  kill -0 "$first_pid" 2>/dev/null && fail "$suite: the old process is still there"
  grep -q 'allowSpecial' "$tree/etc/livezone/zones/k8s.example.com.yaml" || fail "$suite: the upgrade took the configuration"
  "${enter[@]}" livezone status >/dev/null || fail "$suite: status"

  "${enter[@]}" dpkg -r livezone >/dev/null
  [[ -e $tree/etc/livezone/livezone.yaml ]] || fail "$suite: remove took the configuration"
  "${enter[@]}" dpkg -P livezone >/dev/null 2>&1
  rm -rf "$tree/run/stub"
  files_of "$tree" >"$tree/tmp/after"
  # What useradd keeps of the files before, and our stand-in.
  local others='^./run/stub\|^./etc/\(passwd\|group\|shadow\|gshadow\|subuid\|subgid\)-$'
  diff <(grep -v "$others" "$tree/tmp/before") <(grep -v "$others" "$tree/tmp/after") || fail "$suite: purge left or took files"
  grep -q livezone "$tree/etc/passwd" && fail "$suite: purge left the user"
  echo "$suite: removed and purged, nothing left"
}

for suite in "${suites[@]}"; do try "$suite"; done
echo "all well: ${suites[*]}"
