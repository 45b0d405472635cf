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
 */
export class ErrorRateLimit {
  private left = ERRORS_PER_SECOND;
  private windowMs: number;

  /** @param monotonicMs milliseconds on a clock that never jumps */
  constructor(private readonly monotonicMs: () => number) {
    this.windowMs = monotonicMs();
  }

  /** Takes one such reply into account. @returns whether it may be sent */
  admit(): boolean {
    if (this.left === 0) {
      const now = this.monotonicMs();
      if (now - this.windowMs < WINDOW_MS) return false;
      this.windowMs = now;
      this.left = ERRORS_PER_SECOND;
    }
    this.left -= 1;
    return true;
  }
}
