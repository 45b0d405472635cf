import { describe, expect, test } from "vitest";
import { nextChange } from "../../src/cli/admin-changes.js";
import type { AdminClient, RawEvent } from "../../src/client/admin.js";

/** A client whose stream is what the generator makes of it. */
function clientWith(events: (signal: AbortSignal) => AsyncGenerator<RawEvent>): AdminClient {
  return { address: { kind: "socket", path: "/none" }, ask: () => Promise.reject(new Error("not asked")), events };
}

const silent = clientWith(async function* (signal) {
  await new Promise((done) => signal.addEventListener("abort", done));
});

describe("waiting for the next change", () => {
  test("ends with the first event", async () => {
    let read = 0;
    const client = clientWith(async function* () {
      for (;;) {
        read += 1;
        yield { id: String(read), type: "answers", data: {} };
      }
    });
    await nextChange(client, "0", { ended: new AbortController().signal });
    expect(read).toBe(1);
  });

  test("ends with its time, when nothing happens", async () => {
    await nextChange(silent, "0", { ended: new AbortController().signal, atMostMs: 10 });
  });

  test("ends when the user ends it", async () => {
    const ending = new AbortController();
    const waiting = nextChange(silent, "0", { ended: ending.signal });
    ending.abort();
    await waiting;
  });
});
