import { expect, test } from "vitest";
import { ADDON_PATH, addonPaths } from "../../../src/transport/batch/load.js";

test.each([
  { libc: "glibc", interpreter: "\x7fELF\0/lib64/ld-linux-x86-64.so.2\0" },
  { libc: "musl", interpreter: "\x7fELF\0/lib/ld-musl-x86_64.so.1\0" },
  { libc: "glibc", interpreter: "" },
])("an addon for $libc is looked for where Node's interpreter is $interpreter", ({ libc, interpreter }) => {
  const [first, second] = addonPaths(interpreter, "x64");
  expect(first).toBe(ADDON_PATH);
  expect(second).toMatch(new RegExp(`/prebuilds/linux-x64-${libc}/batch\\.node$`));
});
