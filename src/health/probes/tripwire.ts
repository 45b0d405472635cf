import { connect, type Socket } from "node:net";
import type { SingleProbeConfig } from "../../config/config.js";
import type { OpenTripwire, TripwireEnd } from "../tripwires.js";
import type { ProbeFiles } from "./files.js";
import { requestText } from "./http.js";
import { connectTls, verificationFault } from "./tls.js";

/**
 * Time after which the kernel asks whether an idle connection still exists, milliseconds, so that one that the network
 * forgot does not stay for ever. It is asked rarely: a tripwire is for peers that close, not for those that vanish.
 */
const KEEP_ALIVE_MS = 60_000;

/** Time that the closing alert has to leave before the connection is cut, milliseconds. */
const CLOSE_MS = 1_000;

/** Time for a connection to become idle, milliseconds; past it the address is left without a tripwire for a while. */
const OPEN_MS = 5_000;

/**
 * Opens tripwires. For http and https a tripwire is a connection that is kept alive after one GET, which a
 * kube-apiserver keeps for 90 s; without a request, or with HTTP/2, it would be closed much sooner. For tcp it is a
 * connection. The certificate is judged as for a probe, and the handshake completed and closed in an orderly way, so
 * that the apiserver has nothing to log.
 */
export function createOpenTripwire(files: ProbeFiles): OpenTripwire {
  return (address, config, onEnd) => {
    let socket: Socket | undefined;
    /** The connection is idle as it should be: its end means something. */
    let isSet = false;
    let isOver = false;
    const timer = setTimeout(() => end("failed"), OPEN_MS);
    timer.unref();

    function end(how: TripwireEnd): void {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      socket?.destroy();
      onEnd(how);
    }

    function set(): void {
      isSet = true;
      clearTimeout(timer);
    }

    function watch(opened: Socket): void {
      socket = opened;
      if (isOver) {
        opened.destroy();
        return;
      }
      opened.setKeepAlive(true, KEEP_ALIVE_MS);
      opened.on("error", () => {});
      // At the first sign: what comes after an end or an error is only the rest of the same.
      opened.once("end", () => end(isSet ? "tripped" : "failed"));
      opened.once("close", () => end(isSet ? "tripped" : "failed"));
    }

    open(address, config, files, watch, set, () => end("failed")).catch(() => end("failed"));

    return () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (socket === undefined) return;
      const closing = socket;
      // Ends TLS with its closing alert.
      closing.end();
      setTimeout(() => closing.destroy(), CLOSE_MS).unref();
    };
  };
}

/**
 * @param watch is given the connection as soon as there is one
 * @param set is called when it is idle
 * @param refuse is called if it must not be used
 */
async function open(
  address: string,
  config: SingleProbeConfig,
  files: ProbeFiles,
  watch: (socket: Socket) => void,
  set: () => void,
  refuse: () => void,
): Promise<void> {
  if (config.type === "tcp") {
    const socket = connect({ host: address, port: config.port });
    watch(socket);
    socket.once("connect", set);
    // Whatever a server says by itself is not for us.
    socket.resume();
    return;
  }
  if (config.type !== "http" && config.type !== "https") {
    refuse();
    return;
  }
  const token = await files.token(config.bearerTokenFile);
  const text = requestText(config, config.type === "http" ? 80 : 443, token, "keep-alive");
  const ask = (socket: Socket) => {
    socket.once("data", set);
    socket.resume();
    socket.write(text);
  };
  if (config.type === "http") {
    const socket = connect({ host: address, port: config.port });
    watch(socket);
    socket.once("connect", () => ask(socket));
    return;
  }
  const socket = connectTls(address, config, await files.secureContext(config, address));
  watch(socket);
  socket.once("secureConnect", () => {
    if (verificationFault(socket, config) === undefined) ask(socket);
    else refuse();
  });
}
