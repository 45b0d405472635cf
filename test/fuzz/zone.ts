import { createPolicy } from "../../src/query/policy.js";
import type { ZoneSketch } from "../answers/serve.js";
import { createFakeClock } from "../support/fake-clock.js";

const CROWD = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));

/** A zone with each kind of answer, and a server that tells all it can. */
export const SKETCH: ZoneSketch = {
  records: `
@          60 IN TXT   "apex"
@          60 IN MX    10 deep.ent
www        60 IN CNAME api
out        60 IN CNAME www.elsewhere.test.
deep.ent   60 IN A     192.0.2.21
*.wild     60 IN TXT   "w"
child      60 IN NS    ns1.child
ns1.child  60 IN A     192.0.2.53
`,
  policy: createPolicy(
    {
      cookieSecrets: [new Uint8Array(16)],
      identity: Buffer.from("fuzzed"),
      version: Buffer.from("1"),
      tcpIdleMs: 10_000,
    },
    createFakeClock(),
    () => 0.5,
  ),
  endpoints: {
    api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] },
    crowd: CROWD,
  },
};
