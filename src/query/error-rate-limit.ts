import { RCODE } from "../wire/constants.js";
import type { QueryCounters } from "./counters.js";
import type { Respond } from "./respond.js";

/**
 * Replies a second and thread that say no more than "this is no query I understand". Whoever develops a client sees
 * them; a flood of rubbish gets no more, so that it costs half of what it would, and cannot be reflected.
 */
export const ERRORS_PER_SECOND = 1_000;

/** Milliseconds that the number above is for. */
const WINDOW_MS = 1_000;

/**
 * Keeps a flood of malformed packets from taking the time that queries need: past {@link ERRORS_PER_SECOND} in a second,
 * FORMERR and NOTIMP are not sent over UDP. Sending takes longer than all the rest of a reply.
 *
 * @param monotonicMs milliseconds on a clock that never jumps
 */
export function limitErrors(respond: Respond, counters: QueryCounters, monotonicMs: () => number): Respond {
  let left = ERRORS_PER_SECOND;
  let windowMs = monotonicMs();
  return (request, length, reply, transport, client) => {
    const replyLength = respond(request, length, reply, transport, client);
    if (replyLength === 0 || transport !== "udp") return replyLength;
    const rcode = (reply[3] as number) & 0xf;
    if (rcode !== RCODE.FORMERR && rcode !== RCODE.NOTIMP) return replyLength;
    if (left === 0) {
      const now = monotonicMs();
      if (now - windowMs < WINDOW_MS) {
        counters.dropped("malformed");
        return 0;
      }
      windowMs = now;
      left = ERRORS_PER_SECOND;
    }
    left -= 1;
    return replyLength;
  };
}
