/** Knot as a secondary of livezone, for the benchmarks of transfers. */

/** Its configuration. `secret`: of the key `corp`, base64. `zoneOptions`: more lines of each zone. Anybody on 127.0.0.1 may look at its zones. */
export function knotSecondary({ folder, port, primary, secret, zones, zoneOptions = "" }) {
  return `server:
    rundir: ${folder}
    listen: 127.0.0.1@${port}
log:
  - target: stderr
    any: warning
database:
    storage: ${folder}
key:
  - id: corp
    algorithm: hmac-sha256
    secret: ${secret}
remote:
  - id: primary
    address: 127.0.0.1@${primary}
    key: corp
acl:
  - id: notify
    address: 127.0.0.1
    key: corp
    action: notify
  - id: look
    address: 127.0.0.1
    action: transfer
zone:
${zones.map((zone) => `  - domain: ${zone}\n    storage: ${folder}\n    master: primary\n    acl: [notify, look]\n${zoneOptions}`).join("")}`;
}
