import { expect, test } from "vitest";
import { chaosText } from "../../src/query/chaos.js";
import { Query } from "../../src/query/decode.js";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";

const identity = Uint8Array.of(1);
const version = Uint8Array.of(2);

test.each([
  { name: "id.server.", type: TYPE.TXT, says: identity },
  { name: "hostname.bind.", type: TYPE.ANY, says: identity },
  { name: "version.server.", type: TYPE.TXT, says: version },
  { name: "version.bind.", type: TYPE.TXT, says: version },
  { name: "version.bind.", type: TYPE.A, says: undefined },
  { name: "authors.bind.", type: TYPE.TXT, says: undefined },
  { name: "x.version.bind.", type: TYPE.TXT, says: undefined },
])("$name, type $type: $says", ({ name, type, says }) => {
  const query = new Query();
  query.name.set(parseName(name));
  query.type = type;
  const settings = { cookieSecrets: [], tcpIdleMs: 10_000 };
  expect(chaosText(query, { ...settings, identity, version })).toBe(says);
  expect(chaosText(query, settings)).toBeUndefined();
  expect(chaosText(query, undefined)).toBeUndefined();
});
