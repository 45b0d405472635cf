import inspector from "node:inspector";

/** Signals that ask a server to stop. SIGQUIT would end it without answering what is under way. */
const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;

/**
 * Signals that mean nothing to a server, and would end it, or open Node's debugger (SIGUSR1) to every user of the machine.
 * Those that stay as they are: SIGKILL and SIGSTOP cannot be caught; SIGTSTP, SIGTTIN and SIGTTOU are job control; SIGSEGV and
 * its like tell of a crash; SIGXCPU of a limit that somebody has set. Signals by number (SIGRTMIN and up) Node cannot catch.
 */
const IGNORED = [
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGVTALRM",
  "SIGPROF",
  "SIGIO",
  "SIGPWR",
  "SIGSTKFLT",
  "SIGXFSZ",
] as const;

/** The signals that a server obeys. */
export interface ServerSignals {
  /** The name of the first signal that asks for the end: SIGTERM, SIGINT or SIGQUIT. */
  readonly ended: Promise<string>;
  /** Has SIGHUP call this from now on; one that came before counts. */
  onReload(reload: () => void): void;
  /** Tells of each signal that was ignored, those that came before included. */
  onIgnored(tell: (signal: string) => void): void;
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

/** Keeps SIGUSR1 from opening Node's debugger. */
export function keepDebuggerShut(): void {
  process.on("SIGUSR1", () => {});
}

function takeSignals(): ServerSignals {
  let reload: (() => void) | undefined;
  let isAsked = false;
  process.on("SIGHUP", () => {
    if (reload === undefined) isAsked = true;
    else reload();
  });
  const ended = new Promise<string>((resolve) => {
    for (const name of STOPPING) process.on(name, () => resolve(name));
  });
  let tell: ((signal: string) => void) | undefined;
  const ignored: string[] = [];
  for (const name of IGNORED) process.on(name, () => (tell === undefined ? ignored.push(name) : tell(name)));
  return {
    ended,
    onReload(callback) {
      reload = callback;
      if (isAsked) callback();
      isAsked = false;
    },
    onIgnored(callback) {
      tell = callback;
      for (const name of ignored.splice(0)) callback(name);
    },
  };
}

/** Where Node's debugger listens, if it does: because of NODE_OPTIONS, or of a SIGUSR1 before anything of ours ran. */
export function debuggerUrl(): string | undefined {
  return inspector.url();
}
