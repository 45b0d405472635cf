import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Cleanup } from "../support/cleanup.js";

/** A DNS server's place. */
interface Place {
  readonly address: string;
  readonly port: number;
}

interface MiddleboxOptions {
  readonly at: Place;
  readonly server: Place;
  /** Takes the OPT record out of what it passes on, as old firewalls do. */
  readonly stripsEdns?: true;
  readonly blocksTcp?: true;
  readonly cleanup: Cleanup;
}

/** Stands between a client and a DNS server, and does it no good. */
export async function startMiddlebox(options: MiddleboxOptions): Promise<void> {
  const { at, server, cleanup } = options;
  const pass = (message: Buffer) => (options.stripsEdns ? withoutOpt(message) : message);
  const inside = createSocket("udp4");
  inside.on("message", (query, client) => {
    const outside = createSocket("udp4");
    outside.on("message", (reply) => {
      inside.send(reply, client.port, client.address);
      outside.close();
    });
    outside.on("error", () => outside.close());
    outside.connect(server.port, server.address, () => outside.send(pass(query)));
  });
  inside.bind({ address: at.address, port: at.port, exclusive: true });
  await once(inside, "listening");
  cleanup(() => inside.close());
  if (options.blocksTcp) return;
  const listener = createServer((client) => {
    const upstream = connect(server.port, server.address);
    client.pipe(upstream).pipe(client);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
  });
  listener.listen({ host: at.address, port: at.port, exclusive: true });
  await once(listener, "listening");
  cleanup(() => listener.close());
}

/** A query without its OPT record, which is its last one and has no options. */
function withoutOpt(query: Buffer): Buffer {
  if (query.readUInt16BE(10) === 0) return query;
  const stripped = Buffer.from(query.subarray(0, -11));
  stripped.writeUInt16BE(0, 10);
  return stripped;
}
