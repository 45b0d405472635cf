// Stand-in apiservers in a process of their own, so that a test can stop them all with SIGSTOP.
//
//     PEMS='{"ca":…,"server":{"cert":…,"key":…}}' node apiservers.mjs PORT TOKEN ADDRESS…
//
// Prints `listening`, then `probe` for each request. They want a certificate of the authority or the token.
import { createServer } from "node:https";

/** Connections that the kernel takes while the process is stopped: few, so that they are soon full. */
const BACKLOG = 16;

const [port, token, ...addresses] = process.argv.slice(2);
const { ca, server: own } = JSON.parse(process.env.PEMS ?? "{}");
let waiting = addresses.length;
for (const address of addresses) {
  const server = createServer({ ...own, ca, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const isKnown = request.headers.authorization === `Bearer ${token}` || request.socket.authorized;
    response.writeHead(isKnown ? 200 : 401).end("ok");
    console.log("probe");
  });
  server.listen({ port: Number(port), host: address, backlog: BACKLOG }, () => {
    waiting -= 1;
    if (waiting === 0) console.log("listening");
  });
}
