import type { Beat } from "../../src/siblings/messages.js";

/** What a sibling says that is well, for the first time. */
export const BEAT: Beat = {
  t: "beat",
  seq: 1,
  wallMs: 0,
  monotonicMs: 0,
  isolated: false,
  late: false,
  starting: false,
  sight: "reached",
  overrides: "",
};
