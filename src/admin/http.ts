import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";
import { type AdminSource, createAdminServer } from "./server.js";

/** What HTTP requests may do and by which names they may come. */
export interface HttpRules {
  /** File with the bearer token that lets a request change state; absent = none may. */
  readonly tokenFile?: string;
  /** Names in the Host header that are right besides localhost, addresses and the machine's own; lower case. */
  readonly hostNames?: readonly string[];
}

/** Opens the admin HTTP listener. @throws UserError if it cannot be opened */
export async function openAdminHttp(at: SocketAddress, source: AdminSource, rules: HttpRules = {}): Promise<Listening> {
  const server = await createAdminServer(source, { entry: "http", ...rules });
  try {
    await server.listen({ host: at.address, port: at.port });
  } catch (error) {
    await server.close();
    throw listenError("HTTP", at, error);
  }
  const bound = server.server.address();
  return {
    address: { address: at.address, port: typeof bound === "object" && bound !== null ? bound.port : at.port },
    stop: () => server.close(),
  };
}
