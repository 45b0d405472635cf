/** Makes and removes the network namespaces of the lab, those included that a killed run left behind. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { ADDRESSES, HOSTS, namespaceName, RESOLVER, runOf, SWITCH } from "./topology.mjs";

function ip(args, input) {
  const { status, stdout, stderr } = spawnSync("ip", args, { encoding: "utf8", input });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr.trim()}`);
  return stdout;
}

/** Whether this user may make a network namespace and move links into it. */
export function mayMakeNamespaces() {
  return spawnSync("unshare", ["--net", "ip", "link", "add", "type", "veth"]).status === 0;
}

/** Makes one copy of the network. Returns the namespace's name for each host and the switch. */
export function createNetwork(copy) {
  const names = Object.fromEntries([SWITCH, ...HOSTS].map((host) => [host, namespaceName(process.pid, copy, host)]));
  const all = Object.values(names);
  ip(["-batch", "-"], all.map((name) => `netns add ${name}`).join("\n"));
  const links = HOSTS.map(
    (host) => `link add eth0 netns ${names[host]} type veth peer name ${host} netns ${names[SWITCH]}`,
  );
  ip(["-batch", "-"], links.join("\n"));
  const ports = HOSTS.flatMap((host) => [`link set ${host} master br0`, `link set ${host} up`]);
  ip(["-n", names[SWITCH], "-batch", "-"], ["link add br0 type bridge", "link set br0 up", ...ports].join("\n"));
  for (const host of HOSTS) {
    const addresses = host === "corp" ? [ADDRESSES.corp, RESOLVER] : [ADDRESSES[host]];
    const lines = [
      "link set lo up",
      ...addresses.map((address) => `address add ${address}/24 dev eth0`),
      "link set eth0 up",
    ];
    ip(["-n", names[host], "-batch", "-"], lines.join("\n"));
  }
  return names;
}

/** Cuts a host off, as if its power were gone, or joins it again. */
export function setLink(names, host, isUp) {
  ip(["-n", names[SWITCH], "link", "set", host, isUp ? "up" : "down"]);
}

/** Changes the packet filter of a host. @param rules lines for `nft -f` */
export function filter(names, host, rules) {
  const { status, stderr } = spawnSync("nsenter", [`--net=/run/netns/${names[host]}`, "nft", "-f", "-"], {
    encoding: "utf8",
    input: rules,
  });
  if (status !== 0) throw new Error(`nft in ${host}: ${stderr}`);
}

/** What `nft` lists of a host, as text. */
export function listFilter(names, host) {
  const args = [`--net=/run/netns/${names[host]}`, "nft", "list", "ruleset"];
  return spawnSync("nsenter", args, { encoding: "utf8" }).stdout;
}

function allNamespaces() {
  return ip(["netns", "list"])
    .split("\n")
    .map((line) => line.split(" ")[0])
    .filter((name) => runOf(name) !== undefined);
}

/** Ends what still runs in a namespace, and removes it. */
function removeNamespace(name) {
  const { stdout } = spawnSync("ip", ["netns", "pids", name], { encoding: "utf8" });
  for (const pid of (stdout ?? "").split("\n").filter((line) => line !== "")) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
  spawnSync("ip", ["netns", "delete", name]);
}

/** Removes one copy of the network, with all that still runs in it. */
export function removeNetwork(names) {
  for (const name of Object.values(names)) removeNamespace(name);
}

/** Removes all namespaces of this run. */
export function removeNetworks() {
  for (const name of allNamespaces()) if (runOf(name) === process.pid) removeNamespace(name);
}

/** Removes the namespaces of runs that have ended without doing so. Returns their number. */
export function removeLeftovers() {
  const left = allNamespaces().filter((name) => !isLabRun(runOf(name)));
  for (const name of left) removeNamespace(name);
  return left.length;
}

/** Whether a process id is that of a run of the lab. */
export function isLabRun(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("lab/run.mjs");
  } catch {
    return false;
  }
}
