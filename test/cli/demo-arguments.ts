import { DEMO_TARGETS } from "../../src/demo/setup.js";
import { freePort } from "../support/ports.js";

/** Addresses of the demo's stand-ins, in the order of its targets. */
export const ADDRESSES = DEMO_TARGETS.map(({ address }) => address);

/** A demo's arguments, on ports that are free, and the port of its DNS. */
export async function demoArguments(): Promise<{ readonly args: readonly string[]; readonly port: number }> {
  const [port, http, apiserverPort] = [await freePort(), await freePort(), await freePort(...ADDRESSES)];
  const where = ["--listen", `127.0.0.1:${port}`, "--http", `127.0.0.1:${http}`];
  return { args: ["demo", ...where, "--apiserver-port", `${apiserverPort}`], port };
}
