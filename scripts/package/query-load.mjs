/**
 * Asks a server 2,000 times a second over UDP until SIGTERM, and counts the questions without an answer.
 *
 *     node query-load.mjs ADDRESS PORT NAME
 *     node query-load.mjs ADDRESS PORT NAME --first      returns with the first answer; exit code 1 after 10 s without
 *
 * A question is lost if nothing came 2 s after the last was sent. Exit code 1 if any is lost.
 */
import { createSocket } from "node:dgram";

const [address, port, name, isFirst] = process.argv.slice(2);
const PER_TICK = 20;
const TICK_MS = 10;

function query(id) {
  const labels = name.split(".").flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

let sent = 0;
let answered = 0;
/** Identifiers of questions under way. At this rate one comes again after 32 s. */
const open = new Set();
// Several sockets, so that each member of the server's group of sockets gets some.
const sockets = Array.from({ length: 16 }, () => createSocket("udp4"));
for (const socket of sockets) {
  socket.on("message", (reply) => {
    if (open.delete(reply.readUInt16BE(0)) && (reply[3] & 15) === 0 && reply.readUInt16BE(6) > 0) answered += 1;
    if (isFirst && answered > 0) process.exit();
  });
  socket.on("error", () => {});
}
const timer = setInterval(() => {
  for (let i = 0; i < PER_TICK; i++) {
    const id = sent % 65_536;
    open.add(id);
    sockets[sent % sockets.length].send(query(id), Number(port), address);
    sent += 1;
  }
}, TICK_MS);

if (isFirst) setTimeout(() => process.exit(1), 10_000);

process.once("SIGTERM", () => {
  clearInterval(timer);
  setTimeout(() => {
    process.stdout.write(`${sent} asked, ${sent - answered} lost\n`);
    process.exit(sent === answered && sent > 0 ? 0 : 1);
  }, 2000);
});
