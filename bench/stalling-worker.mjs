/** A thread that answers queries over TCP, and is kept busy: see `--stall` of driver.mjs. */
import "../dist/transport/worker.js";

const EVERY_MS = 5;
const BUSY_MS = 5;

setInterval(() => {
  const endMs = performance.now() + BUSY_MS;
  while (performance.now() < endMs);
}, EVERY_MS);
