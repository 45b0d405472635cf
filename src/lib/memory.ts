import { Session } from "node:inspector/promises";

/**
 * Collects all garbage of this thread at once and gives its memory back to the system: what reading and checking a
 * configuration leaves behind is some 13 MB, which the engine else keeps for later. Takes some 50 ms, in which the thread
 * does nothing else. It opens no port.
 */
export async function giveBackMemory(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.collectGarbage");
  } finally {
    session.disconnect();
  }
}
