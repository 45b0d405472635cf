import { expect, test } from "vitest";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";
import { KEPT_SAMPLES, QueryHistory, SAMPLE_EVERY_MS } from "../../src/server/query-history.js";
import { RCODE } from "../../src/wire/constants.js";
import { createFakeClock } from "../support/fake-clock.js";

test("replies a second are kept by response code, for an hour", async () => {
  const clock = createFakeClock();
  const counters = createQueryCounters();
  let isStopping = false;
  const history = new QueryHistory(
    clock,
    () => sumCounters([counters.memory]),
    () => isStopping,
  );
  expect(history.read().rates.noerror).toEqual([]);
  for (let i = 0; i < 50; i++) counters.response(RCODE.NOERROR);
  for (let i = 0; i < 20; i++) counters.response(RCODE.REFUSED);
  counters.response(RCODE.NOTIMP);
  counters.dropped("short");
  await clock.advance(SAMPLE_EVERY_MS);
  const { rates, untilMs } = history.read();
  expect(rates).toEqual({ noerror: [5], nxdomain: [0], refused: [2], servfail: [0], other: [0.1], dropped: [0.1] });
  expect(untilMs).toBe(clock.wallMs());
  await clock.advance(SAMPLE_EVERY_MS * (KEPT_SAMPLES + 5));
  expect(history.read().rates.noerror).toEqual(new Array(KEPT_SAMPLES).fill(0));
  isStopping = true;
  await clock.advance(SAMPLE_EVERY_MS * 2);
  expect(clock.pendingTimers).toBe(0);
});
