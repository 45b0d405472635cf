import { expect, test } from "vitest";
import { FileSource } from "../../src/discovery/file-source.js";
import { createOpenSource } from "../../src/server/discovery-sources.js";
import { createFakeClock } from "../support/fake-clock.js";

const position = { file: "zone.yaml", line: 1, column: 1 };
// Only kubernetes looks at it.
const surroundings = { endpoint: undefined as never, zone: "k8s.example.com", servers: () => [] };

test("each type has its source", () => {
  const open = createOpenSource({ clock: createFakeClock(), random: () => 0 });
  expect(open({ type: "file", name: "file:t", position, path: "/t" }, surroundings)).toBeInstanceOf(FileSource);
});
