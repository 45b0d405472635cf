import { expect, test } from "vitest";
import { notToldYet, told } from "../../src/siblings/told.js";
import { DOUBT, UP } from "./two-servers.js";

const FQDN = UP.endpoint;

test("a sibling is told what is new to it, and of what is gone, once", () => {
  const known = new Map<string, string>();
  const tell = (endpoint?: typeof UP | typeof DOUBT) => notToldYet(known, [told(FQDN, endpoint)]);
  expect(tell()).toEqual({ endpoints: [], gone: [] });
  expect(tell(UP)).toEqual({ endpoints: [UP], gone: [] });
  expect(tell(UP)).toEqual({ endpoints: [], gone: [] });
  expect(tell(DOUBT)).toEqual({ endpoints: [DOUBT], gone: [] });
  expect(tell()).toEqual({ endpoints: [], gone: [FQDN] });
  expect(known.size).toBe(0);
});
