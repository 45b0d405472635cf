/** Loaded first by Node (`--import`), in every thread: the wall clock is a day late. Monotonic time goes on as it is. */
const DAY_MS = 86_400_000;
const Right = globalThis.Date;

globalThis.Date = class extends Right {
  constructor(...args) {
    if (args.length === 0) super(Right.now() - DAY_MS);
    else super(...args);
  }
  static now() {
    return Right.now() - DAY_MS;
  }
};
