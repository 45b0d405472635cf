import { connect } from "node:net";
import type { TcpProbeConfig } from "../../config/config.js";
import type { Attempt } from "./attempt.js";
import { classifyError } from "./classify.js";

/** Passes as soon as the port accepts a connection, which it closes again without a word. */
export function probeTcp(address: string, config: TcpProbeConfig, attempt: Attempt): void {
  const socket = connect({ host: address, port: config.port });
  attempt.onEnd(() => socket.destroy());
  socket.on("error", (error) => {
    const { class: resultClass, reason } = classifyError(error, attempt.awaited);
    attempt.end(resultClass, reason);
  });
  socket.once("connect", () => attempt.end("ok", `port ${config.port} accepts connections`));
}
