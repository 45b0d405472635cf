// One server process of the failure matrix: plays a healthy apiserver until it is told to misbehave.
//
//     fork("peer.mjs"), then messages: { start: { address, certificates } } → { port }, { become: "…" } → { became: "…" }
//
// It ends with its parent.
import { createServer } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";

process.on("disconnect", () => process.exit());

const OK = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n";
const EVERY_MS = 100;
const SLOW_MS = 1_900;

let behaviour = "healthy";
let certificates = {};
let server;
let answered = 0;
const open = new Set();

/** What is done with a connection before TLS; true = that was all. */
const BEFORE_TLS = {
  "resets after accepting": (socket) => socket.resetAndDestroy(),
  "accepts and is silent": () => {},
  "stalls in the TLS handshake": (socket) =>
    socket.once("data", () => socket.write(Buffer.from([22, 3, 3, 0, 122, 2]))),
  "speaks plain HTTP": (socket) => socket.once("data", () => socket.end("HTTP/1.0 400 Bad Request\r\n\r\n")),
  "speaks another protocol": (socket) => socket.write("220 mail.example.com ESMTP\r\n"),
  "closes at once": (socket) => socket.end(),
  "closes in the TLS handshake": (socket) => socket.once("data", () => socket.end()),
};

/** What is done with a request that came in whole. */
const AFTER_REQUEST = {
  "drips the header": (socket) => drip(socket, "HTTP/1.1 200 OK\r\nX-Long: ", "x"),
  "drips the body": (socket) => drip(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x"),
  "answers 200 and never ends the body": (socket) => pour(socket, "HTTP/1.1 200 OK\r\n\r\n", "x".repeat(8192)),
  "answers 500 and never ends the body": (socket) =>
    pour(socket, "HTTP/1.1 500 Internal Server Error\r\n\r\n", "x".repeat(8192)),
  "never ends the header": (socket) => pour(socket, "HTTP/1.1 200 OK\r\n", `X-More: ${"x".repeat(1000)}\r\n`),
  "answers with HTTP/1.0": (socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nok"),
  "sends garbage for chunks": (socket) =>
    socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n"),
  "sends garbage": (socket) => socket.end("\u0000\u0001\u0002\u0003\r\n\r\n"),
  "closes within the body": (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok"),
  "closes before it answers": (socket) => socket.end(),
  "resets before it answers": (_socket, raw) => raw.resetAndDestroy(),
  "answers 200 and hangs": (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"),
  "is silent after the request": () => {},
  "redirects (301)": (socket) =>
    socket.end("HTTP/1.1 301 Moved Permanently\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n"),
  "answers 404": (socket) => status(socket, "404 Not Found"),
  "answers 401": (socket) => status(socket, "401 Unauthorized"),
  "answers 403": (socket) => status(socket, "403 Forbidden"),
  "answers 429": (socket) => status(socket, "429 Too Many Requests"),
  "answers 204": (socket) => socket.end("HTTP/1.1 204 No Content\r\n\r\n"),
  "answers 500 with failing checks": (socket) =>
    status(socket, "500 Internal Server Error", "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"),
  "answers 503": (socket) => status(socket, "503 Service Unavailable", "starting"),
  "alternates between 200 and 500": (socket) => {
    answered += 1;
    if (answered % 2 === 0) status(socket, "500 Internal Server Error");
    else socket.end(`${OK}\r\nok`);
  },
  "takes 1.9 s for each answer": (socket) => setTimeout(() => socket.end(`${OK}\r\nok`), SLOW_MS),
};

/** The certificate that a behaviour presents, with what else there is to say of TLS. */
const TLS = {
  "presents an expired certificate": ["expired"],
  "presents one that is not valid yet": ["notYetValid"],
  "presents a self-signed certificate": ["selfSigned"],
  "presents one of another authority": ["otherAuthority"],
  "presents one for another name": ["wrongName"],
  "presents an RSA certificate": ["rsa"],
  "presents an ECDSA certificate": ["good"],
  "presents an Ed25519 certificate": ["ed25519"],
  "speaks no newer TLS than 1.1": [
    "rsa",
    { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" },
  ],
  "demands a client certificate": ["good", {}, { requestCert: true, rejectUnauthorized: true }],
};

const LISTENER = {
  "closes its listener, old connections live": () => server.close(),
  "closes its listener and all connections": () => {
    server.close();
    for (const socket of open) socket.destroy();
  },
  "kills itself (SIGKILL)": () => process.kill(process.pid, "SIGKILL"),
  "stops itself (SIGSTOP)": () => process.kill(process.pid, "SIGSTOP"),
};

function status(socket, line, body = "") {
  socket.end(`HTTP/1.1 ${line}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function drip(socket, head, piece) {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), EVERY_MS);
  socket.on("close", () => clearInterval(timer));
}

function pour(socket, head, piece) {
  socket.write(head);
  const more = () => {
    if (socket.destroyed) return;
    if (socket.write(piece)) setImmediate(more);
    else socket.once("drain", more);
  };
  more();
}

/** Contexts are made once: that is what takes time. */
const contexts = new Map();
function contextOf(name) {
  const [kind, options = {}] = TLS[name] ?? ["good"];
  if (!contexts.has(name)) {
    const { cert, key } = certificates[kind];
    contexts.set(name, createSecureContext({ cert, key, ...options }));
  }
  return contexts.get(name);
}

function accept(raw) {
  open.add(raw);
  raw.on("error", () => {});
  raw.on("close", () => open.delete(raw));
  const before = BEFORE_TLS[behaviour];
  if (before !== undefined) {
    before(raw);
    return;
  }
  const [, , more = {}] = TLS[behaviour] ?? [];
  const socket = new TLSSocket(raw, { isServer: true, secureContext: contextOf(behaviour), ...more });
  socket.on("error", () => raw.destroy());
  let request = "";
  socket.on("data", (chunk) => {
    request += chunk.toString("latin1");
    if (!request.includes("\r\n\r\n")) return;
    const isKept = /^connection: keep-alive$/im.test(request);
    request = "";
    const answer = AFTER_REQUEST[behaviour];
    if (answer !== undefined) answer(socket, raw);
    else if (isKept) socket.write(`${OK}Connection: keep-alive\r\n\r\nok`);
    else socket.end(`${OK}Connection: close\r\n\r\nok`);
  });
}

process.on("message", ({ start, become }) => {
  if (start !== undefined) {
    certificates = start.certificates;
    server = createServer(accept).listen(0, start.address, () => process.send({ port: server.address().port }));
  }
  if (become !== undefined) {
    const known = [BEFORE_TLS, AFTER_REQUEST, TLS, LISTENER].some((list) => Object.hasOwn(list, become));
    if (!known && become !== "healthy") throw new Error(`unknown behaviour: ${become}`);
    behaviour = become;
    process.send({ became: become }, () => LISTENER[become]?.());
  }
});
