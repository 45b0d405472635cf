/** The signals that a server obeys. */
export interface ServerSignals {
  /** The name of the first signal that asks for the end: SIGTERM or SIGINT. */
  readonly ended: Promise<string>;
  /** Has SIGHUP call this from now on; one that came before counts. */
  onReload(reload: () => void): void;
}

let held: ServerSignals | undefined;

/**
 * Takes the signals of a server over, for the life of the process. To be called before anything else: until then, SIGHUP
 * would end a process that is only starting, and so would it end one that is stopping if it were given back.
 */
export function holdSignals(): ServerSignals {
  held ??= takeSignals();
  return held;
}

function takeSignals(): ServerSignals {
  let reload: (() => void) | undefined;
  let isAsked = false;
  process.on("SIGHUP", () => {
    if (reload === undefined) isAsked = true;
    else reload();
  });
  const ended = new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => resolve(name));
  });
  return {
    ended,
    onReload(callback) {
      reload = callback;
      if (isAsked) callback();
      isAsked = false;
    },
  };
}
