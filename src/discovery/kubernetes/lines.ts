/** Cuts a stream of octets into lines of bounded length, whatever the size of the chunks. */
export class BoundedLines {
  readonly #maxOctets: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  #parts: Buffer[] = [];
  #octets = 0;
  /** What comes up to the next line feed belongs to a line that is too long. */
  #isSkipping = false;

  /** @param onTooLong told once for each line that is left out */
  constructor(maxOctets: number, onLine: (line: string) => void, onTooLong: () => void) {
    this.#maxOctets = maxOctets;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#add(chunk.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
  }

  #add(part: Buffer): void {
    if (this.#isSkipping || part.length === 0) return;
    this.#octets += part.length;
    if (this.#octets > this.#maxOctets) {
      this.#isSkipping = true;
      this.#parts = [];
      this.#onTooLong();
      return;
    }
    this.#parts.push(part);
  }

  #finish(): void {
    // Decoded as a whole, since a chunk may end within a character.
    const line = this.#isSkipping ? "" : Buffer.concat(this.#parts).toString("utf8").trim();
    this.#parts = [];
    this.#octets = 0;
    this.#isSkipping = false;
    if (line !== "") this.#onLine(line);
  }
}
