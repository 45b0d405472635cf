import { createSocket } from "node:dgram";
import { encodeQuery } from "./dns-message.js";

/** Asks `total` times, 64 questions under way, each socket a flow of its own, and counts what never was answered. */
export function loadServer(
  name: string,
  port: number,
  total: number,
): { sent(): number; readonly done: Promise<{ sent: number; lost: number }> } {
  const FLOWS = 16;
  const UNDER_WAY = 4;
  let sent = 0;
  let answered = 0;
  const done = new Promise<{ sent: number; lost: number }>((resolve) => {
    let idle: NodeJS.Timeout | undefined;
    const sockets = Array.from({ length: FLOWS }, () => createSocket("udp4"));
    const finish = (): void => {
      clearTimeout(idle);
      for (const socket of sockets) socket.close();
      resolve({ sent, lost: sent - answered });
    };
    const query = encodeQuery({ name, type: "A" });
    for (const socket of sockets) {
      const next = (): void => {
        if (sent === total) return;
        sent += 1;
        socket.send(query);
      };
      socket.on("message", () => {
        answered += 1;
        clearTimeout(idle);
        if (answered === total) return finish();
        idle = setTimeout(finish, 2_000);
        next();
      });
      socket.connect(port, "127.0.0.1", () => {
        for (let i = 0; i < UNDER_WAY; i += 1) next();
      });
    }
  });
  return { sent: () => sent, done };
}
