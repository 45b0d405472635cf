/** What `livezone demo` runs, as a server of its own beside its stand-in apiservers, for the case of memory. */
import { join } from "node:path";
import { startApiserver } from "../dist/demo/apiserver-process.js";
import { createAuthority } from "../dist/demo/certificates.js";
import { DEMO_ENDPOINT, DEMO_TARGETS, prepareDemo } from "../dist/demo/setup.js";

/** The name that the demo answers for. */
export const DEMO_NAME = DEMO_ENDPOINT;

/**
 * Starts the stand-ins and writes the demo's configuration, to be served on `port`; the admin HTTP is on.
 * Returns the path of its main file, and what ends the stand-ins.
 */
export async function setUpDemo({ folder, port, freePort }) {
  const authority = await createAuthority();
  const certificate = await authority.issue({ names: [DEMO_ENDPOINT] });
  const { configFile, apiserverPort } = await prepareDemo({
    folder: join(folder, "demo"),
    caPem: authority.caPem,
    listen: `127.0.0.1:${port}`,
    adminHttp: `127.0.0.1:${await freePort()}`,
    apiserverPort: await freePort(),
  });
  const apiservers = [];
  const stop = () => Promise.all(apiservers.map((apiserver) => apiserver.crash()));
  try {
    for (const { address } of DEMO_TARGETS) {
      apiservers.push(await startApiserver({ address, port: apiserverPort, ...certificate }));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { configFile, stop };
}
