/** Runs the clients of one round, and gathers what they tell. */
import path from "node:path";
import { NAME, PORT } from "./topology.mjs";

const NODE_CLIENT = path.join(import.meta.dirname, "node-client.mjs");
const URL = `https://${NAME}:${PORT}/version`;

/** The clients, by id: milliseconds between two requests. */
export const CLIENTS = {
  curl: { title: "curl", everyMs: 200 },
  fresh: { title: "Go, new connections", everyMs: 50 },
  single: { title: "Go, first address only", everyMs: 100 },
  lasting: { title: "Go, one lasting connection", everyMs: 50 },
  node: { title: "Node", everyMs: 200 },
};

/** Files of `/etc` as the client's host has them. */
function etcFiles(place, { nameservers = [], hosts = "" }) {
  const resolv = nameservers.map((address) => `nameserver ${address}\n`).join("");
  return {
    "/etc/resolv.conf": place.write("resolv.conf", resolv),
    "/etc/hosts": place.write("hosts", `127.0.0.1 localhost\n${hosts}\n`),
  };
}

function command(place, kind, everyMs) {
  if (kind === "node") return [process.execPath, [NODE_CLIENT, URL, place.ca, String(everyMs)]];
  return [place.lab.programs.client, ["-kind", kind, "-url", URL, "-ca", place.ca, "-every", `${everyMs}ms`]];
}

/** Starts all clients. @returns {Promise<Record<string, ClientRun>>} */
export async function startClients(place, running) {
  const files = etcFiles(place, running.client);
  const started = Object.entries(CLIENTS).map(async ([kind, { everyMs }]) => {
    const run = new ClientRun(place, kind, command(place, kind, everyMs), files);
    await run.start();
    return [kind, run];
  });
  return Object.fromEntries(await Promise.all(started));
}

/** One client of one round. */
class ClientRun {
  /** What went wrong: `{ at, took, error?, unready? }`, `at` in Unix milliseconds. */
  events = [];
  total = 0;
  /** When something failed or slow was last told of, Unix milliseconds. */
  toldAt = 0;
  /** Id of the target that a lasting connection goes to. */
  target;
  #service;

  constructor(place, kind, [program, args], files) {
    const onLine = (line) => this.#take(JSON.parse(line));
    this.#service = place.service("client", `client-${kind}`, program, args, { files, onLine });
  }

  #take(told) {
    if (told.total !== undefined) {
      this.total = told.total;
      return;
    }
    if (told.connected !== undefined) {
      this.target = told.connected;
      return;
    }
    this.events.push(told);
    if (told.unready === undefined) this.toldAt = Date.now();
  }

  start() {
    return this.#service.start();
  }

  stop() {
    return this.#service.stop();
  }
}

/** Watches the answers of name servers. @param {(event: { at: number, server: string, addresses: string[] }) => void} onChange */
export function startWatch(place, servers, onChange) {
  const args = ["-kind", "watch", "-name", NAME, "-servers", servers.join(","), "-every", "100ms"];
  const onLine = (line) => {
    const told = JSON.parse(line);
    if (told.server !== undefined) onChange(told);
  };
  return place.service("client", "watch", place.lab.programs.client, args, { onLine }).start();
}
