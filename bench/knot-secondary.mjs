/** Knot as a secondary of livezone, for the benchmarks of transfers. */

/**
 * Its configuration. `secret`: of the key `corp`, base64; null: nothing is signed. `zoneOptions`: more lines of each zone. `log`: from which
 * level on. `from`: address that it asks from. Anybody on 127.0.0.1 may look at its zones.
 */
export function knotSecondary({ folder, port, primary, secret, zones, zoneOptions = "", log = "warning", from }) {
  const key = secret === null ? "" : "    key: corp\n";
  const keys = secret === null ? "" : `key:\n  - id: corp\n    algorithm: hmac-sha256\n    secret: ${secret}\n`;
  const via = from === undefined ? "" : `    via: ${from}\n`;
  return `server:
    rundir: ${folder}
    listen: 127.0.0.1@${port}
log:
  - target: stderr
    any: ${log}
database:
    storage: ${folder}
${keys}remote:
  - id: primary
    address: 127.0.0.1@${primary}
${key}${via}acl:
  - id: notify
    address: 127.0.0.1
${key}    action: notify
  - id: look
    address: 127.0.0.1
    action: transfer
zone:
${zones.map((zone) => `  - domain: ${zone}\n    storage: ${folder}\n    master: primary\n    acl: [notify, look]\n${zoneOptions}`).join("")}`;
}
