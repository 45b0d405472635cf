import { beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";
import { createPolicy } from "../../src/query/policy.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { startBindAuthoritative } from "../support/bind.js";
import { afterAllTests } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { startKnot } from "../support/knot.js";
import { startLivezone } from "../support/livezone.js";
import { startNsd } from "../support/nsd.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { seededRandom } from "../support/random.js";
import { askAllTcp, askAllUdp, type Endpoint } from "./asker.js";
import { type Difference, differences, type Picture, pictureOf } from "./compare.js";
import { describeQuestion, encode, generateQuestions, type Question } from "./questions.js";
import { expectedRules, ruleFor } from "./rules.js";
import { livezoneFiles, masterFile, SKETCH, ZONE_NAME } from "./zone.js";

/** The same questions every time; another seed by `LIVEZONE_DIFFERENTIAL_SEED`. */
const SEED = Number(process.env.LIVEZONE_DIFFERENTIAL_SEED ?? 20_240_501);

/** 50,000 take some 10 s: `LIVEZONE_DIFFERENTIAL_QUESTIONS=50000 npx vitest run test/differential`. */
const QUESTIONS = Number(process.env.LIVEZONE_DIFFERENTIAL_QUESTIONS ?? 5_000);

/** What the process does by default, with another secret. */
const policy = createPolicy(
  { cookieSecrets: [new Uint8Array(16)], tcpIdleMs: 10_000 },
  systemClock,
  seededRandom(SEED),
);

/** One RRset for ANY, no NS beside answers, and leave to serve an alias as a mail exchanger. */
const BIND_OPTIONS = [
  "minimal-responses no-auth;",
  "minimal-any yes;",
  "check-mx-cname ignore;",
  "check-names primary ignore;",
];

type Reply = Picture | "silence";

/** Asks a server everything, each question over its transport. */
async function askAll(server: Endpoint, questions: readonly Question[]): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (const transport of ["udp", "tcp"] as const) {
    const indexes = [...questions.keys()].filter((index) => questions[index]?.transport === transport);
    const queries = indexes.map((index) => encode(questions[index] as Question, 0));
    const received = await (transport === "udp" ? askAllUdp : askAllTcp)(server, queries);
    indexes.forEach((index, i) => {
      replies[index] = pictureOf(received[i]);
    });
  }
  return replies;
}

function compare(
  server: string,
  questions: readonly Question[],
  ours: readonly Reply[],
  theirs: readonly Reply[],
): Difference[] {
  return questions.flatMap((question, i) => differences(question, server, ours[i] as Reply, theirs[i] as Reply));
}

/** For the report: what was asked, and what both said. */
function describeDifference({ question, server, field, ours, theirs }: Difference): string {
  const say = (reply: Reply) => (reply === "silence" || field === "silence" ? "silence" : JSON.stringify(reply[field]));
  return `${describeQuestion(question)}: ${field}\n  livezone ${say(ours)}\n  ${server} ${say(theirs)}`;
}

describeWith(["knotd", "nsd", "named"], `${QUESTIONS} questions from seed ${SEED}`, () => {
  const cleanup = afterAllTests();
  const questions = generateQuestions(SEED, QUESTIONS);
  let livezone: Endpoint;
  let served: ServedZone;
  let ours: Reply[];
  let found: Difference[];

  beforeAll(async () => {
    const port = await freePort();
    await startLivezone({ files: livezoneFiles(port), cleanup });
    livezone = { address: "127.0.0.1", port };
    const soa = await ask({ server: "127.0.0.1", port, name: ZONE_NAME, type: "SOA" });
    // Its serial is the time it started; the others get the same.
    const serial = Number(soa.answers[0]?.rdata.split(" ")[2]);
    const zones = { [ZONE_NAME]: masterFile(serial) };
    const knot = await startKnot({ zones, cleanup });
    const nsd = await startNsd({ zones, minimalResponses: true, cleanup });
    const bind = await startBindAuthoritative({ zones, optionLines: BIND_OPTIONS, cleanup });
    served = serveSketch({ ...SKETCH, policy }, serial);
    ours = await askAll(livezone, questions);
    found = [
      ...compare("knot", questions, ours, await askAll(knot, questions)),
      ...compare("nsd", questions, ours, await askAll(nsd, questions)),
      ...compare("bind", questions, ours, await askAll(bind, questions)),
    ];
  }, 120_000);

  test("every difference to Knot, NSD and BIND falls under a rule", () => {
    const unexplained = found.filter((difference) => ruleFor(difference) === undefined);
    expect(unexplained.slice(0, 20).map(describeDifference).join("\n")).toBe("");
  });

  test.each(expectedRules())("met by $server: $rule", ({ server, rule }) => {
    expect(found.some((difference) => difference.server === server && ruleFor(difference) === rule)).toBe(true);
  });

  test("most answers need no rule", () => {
    for (const server of ["knot", "nsd"]) {
      const touched = new Set(
        found.filter((difference) => difference.server === server).map(({ question }) => question),
      );
      expect(touched.size / questions.length).toBeLessThan(0.12);
    }
  });

  test("the questions reach every kind of answer", () => {
    const kinds = new Set(
      ours.map((reply) =>
        reply === "silence" ? reply : `${reply.rcode} ${reply.flags.replace(" rd", "").replace("rd", "")}`,
      ),
    );
    for (const kind of ["NOERROR aa", "NOERROR ", "NXDOMAIN aa", "REFUSED ", "NOERROR aa tc"])
      expect(kinds).toContain(kind);
    expect(kinds).not.toContain("silence");
  });

  test("the process and the responder called directly answer alike", () => {
    const direct = questions.map((question) => pictureOf(served.askRaw(encode(question, 0), question.transport)));
    expect(compare("called directly", questions, ours, direct).map(describeDifference)).toEqual([]);
  });
});
