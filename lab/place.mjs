/** One copy of the network with its folder and its apiservers: the place in which a way is tried. */
import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createNetwork, removeNetwork } from "./namespaces.mjs";
import { Service } from "./service.mjs";
import { ADDRESSES, PORT, TARGETS } from "./topology.mjs";

/**
 * @param {number} copy number of the copy, from 0
 * @param {{ folder: string, programs: Record<string, string>, certificates: string }} lab
 */
export async function openPlace(copy, lab) {
  const place = new Place(createNetwork(copy), path.join(lab.folder, String(copy)), lab);
  await Promise.all(TARGETS.map((id) => place.apiservers[id].start()));
  return place;
}

class Place {
  constructor(namespaces, folder, lab) {
    this.namespaces = namespaces;
    this.lab = lab;
    this.folder = folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    /** What siblings share: 32 octets in hex. */
    this.secret = randomBytes(32).toString("hex");
    this.ca = path.join(lab.certificates, "ca.crt");
    this.apiservers = Object.fromEntries(TARGETS.map((id) => [id, new Apiserver(this, id)]));
  }

  /** A program on one of the hosts. @param {Partial<import("./service.mjs").ServiceOptions>} options */
  service(host, name, program, args, options = {}) {
    const namespace = this.namespaces[host];
    return new Service({ namespace, folder: this.folder, name: `${host}-${name}`, program, args, ...options });
  }

  /** Writes a file into the copy's folder. Returns its path. */
  write(file, text, mode = 0o644) {
    const full = path.join(this.folder, file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text, { mode });
    return full;
  }

  /** Makes an empty folder. Returns its path. */
  emptyFolder(name) {
    const full = path.join(this.folder, name);
    rmSync(full, { recursive: true, force: true });
    mkdirSync(full, { recursive: true });
    return full;
  }

  /** Ends all that runs in it. */
  close() {
    removeNetwork(this.namespaces);
  }
}

/** A stand-in apiserver: `go/apiserver.go`. */
class Apiserver {
  #place;
  #id;
  #service;

  constructor(place, id) {
    this.#place = place;
    this.#id = id;
  }

  /** @param delay its shutdown delay */
  async start(delay = "20s") {
    const { programs, certificates } = this.#place.lab;
    const listen = `${ADDRESSES[this.#id]}:${PORT}`;
    const args = ["-listen", listen, "-name", this.#id, "-certificates", certificates, "-delay", delay];
    this.#service = this.#place.service(this.#id, "apiserver", programs.apiserver, args, { ready: /listening/ });
    await this.#service.start();
  }

  crash() {
    return this.#service.kill();
  }

  hang() {
    this.#service.signal("SIGSTOP");
  }

  order(line) {
    this.#service.write(line);
  }

  /** SIGTERM; resolves when its shutdown delay is over and it has ended. */
  async stop() {
    this.#service.signal("SIGTERM");
    await this.#service.ended;
  }

  /** Makes it a new process that is ready. */
  async renew(delay) {
    await this.#service.kill();
    await this.start(delay);
  }
}
