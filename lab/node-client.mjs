// A client in Node: a new HTTPS connection every so often. It writes what `go/client.go` writes.
//
//     node lab/node-client.mjs URL CA-FILE EVERY-MS
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";

const [url, caFile, everyMs] = process.argv.slice(2);
const TIMEOUT_MS = 5_000;
const SLOW_MS = 1_000;
const options = {
  ca: readFileSync(caFile),
  agent: new Agent({ keepAlive: false, maxCachedSessions: 0 }),
};
const open = new Map();
let total = 0;

const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

function end(id, lab = "", error = undefined) {
  const at = open.get(id);
  if (at === undefined) return;
  open.delete(id);
  const took = Date.now() - at;
  const [who, readiness] = lab.split(" ");
  if (error !== undefined) write({ at, took, error });
  else if (readiness === "unready") write({ at, took, unready: who });
  else if (took > SLOW_MS) write({ at, took });
}

function send() {
  total += 1;
  const id = total;
  open.set(id, Date.now());
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const asked = request(url, { ...options, signal }, (response) => {
    response.resume();
    response.once("error", (error) => end(id, "", error.message));
    response.once("end", () => {
      const isGood = response.statusCode === 200;
      end(id, response.headers["x-lab"], isGood ? undefined : `status ${response.statusCode}`);
    });
  });
  asked.once("error", (error) => end(id, "", error.code ?? error.message));
  asked.end();
}

setInterval(send, Number(everyMs));
process.stdin.resume();
// It ends with its parent.
process.stdin.once("end", () => process.exit(0));
process.once("SIGTERM", () => {
  for (const [id, at] of open) if (Date.now() - at > SLOW_MS) end(id, "", "unfinished");
  process.stdout.write(`${JSON.stringify({ total })}\n`, () => process.exit(0));
});
