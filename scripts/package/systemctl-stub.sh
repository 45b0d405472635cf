#!/bin/sh
# Stands in for systemctl in a chroot: starts and stops what a unit's ExecStart says, as its User. For install-test.sh.
[ "$1" = --quiet ] && shift
verb=$1
shift
[ "$1" = livezone.socket ] && [ "$verb" = is-active ] && exit 3

is_active() { [ -e "/run/stub/$1.pid" ] && kill -0 "$(cat "/run/stub/$1.pid")" 2>/dev/null; }

start() {
  is_active "$1" && return 0
  file=/usr/lib/systemd/system/$1
  [ -e "$file" ] || return 5
  command=$(sed -n 's/^ExecStart=//p' "$file")
  user=$(sed -n 's/^User=//p' "$file")
  for folder in /run/livezone /var/lib/livezone; do install -d -o "$user" -g "$user" "$folder"; done
  # The one capability of the unit.
  # shellcheck disable=SC2086 # ExecStart is several words.
  setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps +net_bind_service --ambient-caps +net_bind_service \
    $command >>"/run/stub/$1.log" 2>&1 </dev/null &
  echo $! >"/run/stub/$1.pid"
}

stop() {
  is_active "$1" || return 0
  kill "$(cat "/run/stub/$1.pid")"
  while is_active "$1"; do sleep 0.1; done
}

case $verb in
  is-active) is_active "$1" ;;
  start) start "$1" ;;
  stop) for unit; do stop "$unit"; done; rm -rf /run/livezone ;;
  restart) stop "$1"; start "$1" ;;
  *) exit 0 ;;
esac
