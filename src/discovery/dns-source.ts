import type { Asking, ask } from "../client/ask.js";
import type { Reply, ReplyRecord } from "../client/reply.js";
import type { DnsSourceConfig } from "../config/discovery.js";
import type { Clock, Timer } from "../lib/clock.js";
import { messageOf } from "../lib/errors.js";
import { formatAddress } from "../lib/listening.js";
import { idOfAddress } from "./label.js";
import type { Candidate, Source, SourceListener } from "./source.js";

/** Longest time between two questions, milliseconds, however long the TTL. */
const MAX_INTERVAL_MS = 3_600_000;

/** Hosts of an SRV record set that are looked up. */
const MAX_HOSTS = 64;

/** Milliseconds that the server has for one answer: a recursive one may have to ask others. */
const TIMEOUT_MS = 3_000;

/** What a name stands for. */
interface Found {
  readonly candidates: readonly Candidate[];
  /** Least TTL, seconds; infinite without records. */
  readonly ttl: number;
}

/** The addresses of a name, asked again and again of one server. */
export class DnsSource implements Source {
  readonly #config: DnsSourceConfig;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #ask: typeof ask;
  #listener: SourceListener | undefined;
  #timer: Timer | undefined;
  #before = "";

  /** @param random 0 (included) to 1 (not included), spreads the questions */
  constructor(config: DnsSourceConfig, clock: Clock, random: () => number, askServer: typeof ask) {
    this.#config = config;
    this.#clock = clock;
    this.#random = random;
    this.#ask = askServer;
  }

  start(listener: SourceListener): void {
    this.#listener = listener;
    void this.#round();
  }

  stop(): void {
    this.#listener = undefined;
    this.#timer?.cancel();
  }

  async #round(): Promise<void> {
    let delayMs = this.#config.intervalMs;
    try {
      const { candidates, ttl } = await this.#find();
      // A cache that was asked has the records for as long as their TTL, so asking before is in vain.
      delayMs = Math.max(delayMs, Math.min(ttl * 1_000, MAX_INTERVAL_MS));
      this.#report(candidates);
    } catch (error) {
      this.#before = "";
      this.#listener?.failed({ problem: messageOf(error), needsOperator: false });
    }
    if (this.#listener === undefined) return;
    const jitter = 0.9 + 0.2 * this.#random();
    this.#timer = this.#clock.after(delayMs * jitter, () => void this.#round());
  }

  #report(candidates: readonly Candidate[]): void {
    const now = JSON.stringify(candidates);
    if (now === this.#before) this.#listener?.confirmed();
    else this.#listener?.proposed(candidates, []);
    this.#before = now;
  }

  /** @throws Error if any question has no good answer: half of the truth would look like targets that are gone */
  async #find(): Promise<Found> {
    const { query, records } = this.#config;
    const parts: Found[] = [];
    for (const type of records) {
      const answers = await this.#records(query, type);
      parts.push(type === "SRV" ? await this.#hosts(answers) : addressesOf(answers));
    }
    return {
      candidates: byId(parts.flatMap(({ candidates }) => candidates)),
      ttl: Math.min(Number.POSITIVE_INFINITY, ...parts.map(({ ttl }) => ttl)),
    };
  }

  /** The addresses of the hosts that SRV records name (RFC 2782). */
  async #hosts(answers: readonly ReplyRecord[]): Promise<Found> {
    const candidates: Candidate[] = [];
    let ttl = leastTtl(answers);
    for (const { data } of answers.slice(0, MAX_HOSTS)) {
      const [, , port = "", host = "."] = data.split(" ");
      // "." says that the service is not there.
      if (host === ".") continue;
      const found = [...(await this.#records(host, "A")), ...(await this.#records(host, "AAAA"))];
      ttl = Math.min(ttl, leastTtl(found));
      const addresses = found.flatMap(({ address }) => address ?? []);
      candidates.push({ id: host.replace(/\.$/, "").toLowerCase(), addresses, port: Number(port) });
    }
    return { candidates, ttl };
  }

  async #records(name: string, type: string): Promise<readonly ReplyRecord[]> {
    const { server } = this.#config;
    const asking: Asking = { server, name, type, timeoutMs: TIMEOUT_MS };
    let reply: Reply = await this.#ask(asking);
    if (reply.tc) reply = await this.#ask({ ...asking, transport: "tcp" });
    if (reply.rcode !== "NOERROR") {
      throw new Error(`${formatAddress(server)} answers ${reply.rcode} for ${name} ${type}`);
    }
    // A CNAME's records follow it in the same answer.
    return reply.answers.filter((record) => record.type === type);
  }
}

function addressesOf(answers: readonly ReplyRecord[]): Found {
  const addresses = answers.flatMap(({ address }) => address ?? []);
  return {
    candidates: addresses.map((address) => ({ id: idOfAddress(address), addresses: [address] })),
    ttl: leastTtl(answers),
  };
}

function leastTtl(answers: readonly ReplyRecord[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...answers.map(({ ttl }) => ttl));
}

/** In an order that does not depend on that of the records, which servers rotate. */
function byId(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...candidates].sort((a, b) => (a.id < b.id ? -1 : 1));
}
