import { basename, relative } from "node:path";
import type { App } from "../app.js";
import { ask } from "../client/ask.js";
import type { Apiserver, ApiserverState } from "../demo/apiserver-process.js";
import { type DemoAction, readKeys, selectedAfter } from "../demo/keys.js";
import {
  type DemoAnswer,
  type DemoTarget,
  ENTER_SCREEN,
  LEAVE_SCREEN,
  paint,
  renderEvent,
  renderScreen,
} from "../demo/screen.js";
import { DEMO_ENDPOINT, DEMO_TARGETS } from "../demo/setup.js";
import { type DemoDeed, EMPTY_STORY, eventsSince, noteAnswer, noteDeed, type Story } from "../demo/timeline.js";
import { messageOf } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";

/** Queries until the first answer is there, each with its own timeout; the demo goes on without it all the same. */
const FIRST_TRIES = 5;

/** How often the name is asked and the screen drawn, milliseconds: the precision of the times shown. */
const ASK_EVERY_MS = 50;

/** What a deed makes of a stand-in. */
const OUTCOMES: Readonly<Record<DemoDeed, ApiserverState>> = {
  crash: "crashed",
  hang: "hung",
  unready: "unready",
  revive: "running",
};

const KEYS_EXPLAINED =
  "c: it is gone. h: it does not answer. u: it says it is not ready. r: it works again. Tab: next.";

/** How the demo comes to its end: by a key, a signal, or because nobody can see it any more. */
export interface Ending {
  readonly begun: Promise<void>;
  begin(): void;
}

/** An end that SIGTERM, SIGINT, SIGHUP and a closed standard output begin. */
export function createEnding(): Ending {
  let begin: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, begin);
  process.stdout.on("error", begin);
  return { begun, begin };
}

/** What a session shows and obeys. */
export interface DemoSessionOptions {
  readonly app: App;
  /** In the order of the demo's targets. */
  readonly apiservers: readonly Apiserver[];
  /** Whether a screen is drawn; without, events are printed line by line. */
  readonly isTerminal: boolean;
  /** Path of the control socket, by which everything may be done; by HTTP it may only be looked at. */
  readonly adminSocket?: string;
  readonly ending: Ending;
}

/** The demo in front of its user: asks the name, draws what is answered, and obeys the keys. */
export class DemoSession {
  readonly #options: DemoSessionOptions;
  readonly #server: SocketAddress;
  /** URL of the admin listener without a path. */
  readonly #http: string | undefined;
  /** The command that shows the status. */
  readonly #statusCommand: string | undefined;
  #story: Story = EMPTY_STORY;
  #answer: DemoAnswer | undefined;
  #selected = 0;
  #hint: string | undefined;

  constructor(options: DemoSessionOptions) {
    const { app, adminSocket } = options;
    this.#options = options;
    this.#server = app.listen[0] as SocketAddress;
    this.#http = app.http === undefined ? undefined : `http://${formatAddress(app.http)}`;
    const place = adminSocket ?? this.#http;
    this.#statusCommand = place === undefined ? undefined : `${ownCommand()} status --admin ${place}`;
  }

  /** Asks, draws and obeys until the end is begun. */
  async play(): Promise<void> {
    const { isTerminal, ending } = this.#options;
    await this.#waitForFirstAnswer();
    if (isTerminal) process.stdout.write(ENTER_SCREEN);
    else this.#printPlaces();
    const stopReading = readKeys(process.stdin, (action) => {
      // One that cannot be carried out (hung, its port taken meanwhile) changes nothing; the table shows what is.
      this.#act(action)
        .catch(() => {})
        .then(() => this.#draw());
    });
    let isRunning = true;
    void ending.begun.then(() => {
      isRunning = false;
    });
    while (isRunning) {
      await this.#look();
      this.#draw();
      await Promise.race([ending.begun, new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))]);
    }
    stopReading();
    if (isTerminal) process.stdout.write(LEAVE_SCREEN);
  }

  /**
   * Changes are told against the first answer, so that comes before anybody is asked to look. A thread that is not ready
   * yet is silent.
   */
  async #waitForFirstAnswer(): Promise<void> {
    let triesLeft = FIRST_TRIES;
    const noMore = this.#options.ending.begun.then(() => {
      triesLeft = 0;
    });
    for (; this.#story.answered === undefined && triesLeft > 0; triesLeft -= 1) {
      await Promise.race([this.#look(), noMore]);
    }
  }

  #printPlaces(): void {
    const { address, port } = this.#server;
    process.stdout.write(`livezone demo: try  dig @${address} -p ${port} ${DEMO_ENDPOINT}\n`);
    if (this.#statusCommand !== undefined) process.stdout.write(`livezone demo: or   ${this.#statusCommand}\n`);
    if (this.#http !== undefined) process.stdout.write(`livezone demo: or look at ${this.#http}/\n`);
  }

  #draw(): void {
    if (!this.#options.isTerminal) return;
    const screen = renderScreen(
      {
        name: DEMO_ENDPOINT,
        ...this.#server,
        ...(this.#http === undefined ? {} : { statusUrl: `${this.#http}/` }),
        ...(this.#statusCommand === undefined ? {} : { command: this.#statusCommand }),
        ...(this.#hint === undefined ? {} : { hint: this.#hint }),
        nowMs: Date.now(),
        targets: this.#targets(),
        selected: this.#selected,
        ...(this.#answer === undefined ? {} : { answer: this.#answer }),
        failOpen: this.#failsOpen(),
        events: this.#story.events,
      },
      {
        // A terminal that does not know its size says 0.
        width: process.stdout.columns || 80,
        height: process.stdout.rows || 24,
        colour: process.env.NO_COLOR === undefined,
      },
    );
    process.stdout.write(paint(screen));
  }

  #targets(): DemoTarget[] {
    const { app, apiservers } = this.#options;
    const health = app.snapshot().endpoints.get(DEMO_ENDPOINT)?.targets ?? [];
    return DEMO_TARGETS.map(({ id, address }, index) => {
      const found = health.find((target) => target.id === id)?.addresses[0];
      return {
        id,
        address,
        health: found?.health ?? "unknown",
        sinceMs: found?.sinceMs ?? Date.now(),
        apiserver: apiservers[index]?.state ?? "stopped",
        ...(found?.last === undefined ? {} : { reason: found.last.reason }),
      };
    });
  }

  #failsOpen(): boolean {
    return this.#options.app.answerable(DEMO_ENDPOINT)?.mode === "fail-open";
  }

  /** Why a target left the answers: what an operator said of it, else what its last probe found. */
  #reasonOf(id: string): string | undefined {
    const targets = this.#options.app.snapshot().endpoints.get(DEMO_ENDPOINT)?.targets;
    const found = targets?.find((target) => target.id === id);
    return found?.override?.kind ?? found?.addresses[0]?.last?.reason;
  }

  /** Asks the name once, and notes what has changed. */
  async #look(): Promise<void> {
    const answer = await askNow(this.#server);
    this.#answer = answer;
    if (answer.kind !== "addresses") return;
    const answered = DEMO_TARGETS.filter(({ address }) => answer.addresses.includes(address)).map(({ id }) => id);
    const before = this.#story;
    this.#story = noteAnswer(before, {
      targets: new Set(answered),
      failOpen: this.#failsOpen(),
      nowMs: Date.now(),
      reasonOf: (id) => this.#reasonOf(id),
    });
    if (this.#options.isTerminal) return;
    for (const event of eventsSince(before, this.#story)) process.stdout.write(`${renderEvent(event)}\n`);
  }

  async #act(action: DemoAction): Promise<void> {
    const { apiservers, ending } = this.#options;
    if (action.kind === "quit") return ending.begin();
    this.#selected = selectedAfter(this.#selected, action, DEMO_TARGETS.length);
    this.#hint = hintOf(action);
    const apiserver = apiservers[this.#selected];
    const target = DEMO_TARGETS[this.#selected];
    if (apiserver === undefined || target === undefined || !isDeed(action)) return;
    if (apiserver.state === OUTCOMES[action.kind]) {
      this.#hint = `${target.id} is ${apiserver.state} already.`;
      return;
    }
    this.#story = noteDeed(this.#story, target.id, action.kind, Date.now());
    if (action.kind === "crash") await apiserver.crash();
    else if (action.kind === "hang") apiserver.hang();
    else if (action.kind === "revive") await apiserver.revive();
    else await apiserver.setReady(false);
  }
}

/** How this program is started from where the user is: `livezone`, or in a checkout `node dist/main.js`. */
function ownCommand(): string {
  const program = process.argv[1] ?? "";
  return basename(program) === "main.js" ? `node ${relative(process.cwd(), program)}` : "livezone";
}

function hintOf({ kind }: DemoAction): string | undefined {
  if (kind === "help") return KEYS_EXPLAINED;
  return kind === "unknown" ? "That key does nothing here; ? says what the others do." : undefined;
}

function isDeed(action: DemoAction): action is { readonly kind: DemoDeed } {
  return Object.hasOwn(OUTCOMES, action.kind);
}

async function askNow(server: SocketAddress): Promise<DemoAnswer> {
  const startedMs = performance.now();
  try {
    const reply = await ask({ server, name: DEMO_ENDPOINT, type: "A" });
    const addresses = reply.answers.flatMap((record) =>
      "address" in record && typeof record.address === "string" ? [record.address] : [],
    );
    return {
      kind: "addresses",
      addresses: addresses.sort(),
      ttl: reply.answers[0]?.ttl ?? 0,
      tookMs: performance.now() - startedMs,
    };
  } catch (error) {
    return { kind: "none", why: messageOf(error) };
  }
}
