import { MAX_LINE_OCTETS } from "./messages.js";

/** Puts lines together from what a connection brings; holds at most one line. */
export class LineReader {
  #parts: Buffer[] = [];
  #octets = 0;

  /**
   * The lines that are complete with these octets, without their ends.
   *
   * @returns "too-long" for a line of more than {@link MAX_LINE_OCTETS} octets
   */
  read(chunk: Buffer): readonly string[] | "too-long" {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      if (this.#octets + end - from > MAX_LINE_OCTETS) return "too-long";
      this.#parts.push(chunk.subarray(from, end));
      lines.push(Buffer.concat(this.#parts).toString("utf8"));
      this.#parts = [];
      this.#octets = 0;
      from = end + 1;
    }
    if (this.#octets + chunk.length - from > MAX_LINE_OCTETS) return "too-long";
    if (from < chunk.length) {
      // A copy: the chunk may be a part of a larger piece of memory.
      this.#parts.push(Buffer.from(chunk.subarray(from)));
      this.#octets += chunk.length - from;
    }
    return lines;
  }
}
