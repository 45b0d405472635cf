/**
 * The least that a program on `node:dgram` can do: `echo.c` without batches. Every request comes back with QR set, three
 * answers announced and 48 octets more. What livezone can reach without its native part is measured against it.
 *
 *   node bench/dgram-echo.mjs PORT
 */
import { createSocket } from "node:dgram";

const FLAGS_AT = 2;
const ANCOUNT_AT = 7;
const QR = 0x80;
const ANSWERS = 3;
const ANSWER_OCTETS = 48;

const reply = Buffer.alloc(2048 + ANSWER_OCTETS);
const socket = createSocket({ type: "udp4", lookup: (address, _, callback) => callback(null, address, 4) });
socket.on("message", (message, { port, address }) => {
  reply.set(message);
  reply[FLAGS_AT] |= QR;
  reply[ANCOUNT_AT] = ANSWERS;
  socket.send(reply, 0, message.length + ANSWER_OCTETS, port, address);
});
socket.bind(Number(process.argv[2]), "127.0.0.1");
