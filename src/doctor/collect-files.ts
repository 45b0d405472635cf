import { readFileSync, statSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { messageOf } from "../lib/errors.js";
import type { ManifestFacts, UnreadableFile } from "./facts.js";

/** Larger files are not what they are given for. Octets. */
const MAX_FILE_OCTETS = 1 << 20;

/** What the kubelet gives a Pod that names no time, seconds. */
const DEFAULT_GRACE_SECONDS = 30;

const manifestSchema = z.object({
  spec: z.object({
    terminationGracePeriodSeconds: z.number().optional(),
    containers: z.array(z.object({ command: z.array(z.string()).default([]), args: z.array(z.string()).default([]) })),
  }),
});

/** Reads a kube-apiserver's static Pod manifest. */
export function readManifest(file: string): ManifestFacts | UnreadableFile {
  return readYaml(file, "a Pod manifest with containers", manifestSchema, ({ spec }) => {
    const words = spec.containers.map(({ command, args }) => [...command, ...args]);
    const flags = words.find((command) => command.some((word) => /(^|\/)kube-apiserver$/.test(word)));
    if (flags === undefined) return { file, problem: `${file} runs no kube-apiserver` };
    const shutdownDelay = flagIn(flags, "shutdown-delay-duration");
    const shutdownDelayMs = shutdownDelay === undefined ? 0 : goDurationMs(shutdownDelay);
    if (shutdownDelayMs === undefined) {
      return { file, problem: `${file}: --shutdown-delay-duration=${shutdownDelay} is no duration` };
    }
    const advertiseAddress = flagIn(flags, "advertise-address");
    return {
      file,
      shutdownDelayMs,
      ...(shutdownDelay === undefined ? {} : { shutdownDelay }),
      ...(advertiseAddress === undefined ? {} : { advertiseAddress }),
      anonymousAuth: flagIn(flags, "anonymous-auth") !== "false",
      graceSeconds: spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
    };
  });
}

function readYaml<S extends z.ZodType, T>(
  file: string,
  what: string,
  schema: S,
  make: (value: z.output<S>) => T,
): T | UnreadableFile {
  try {
    const parsed = schema.safeParse(parse(readText(file)));
    return parsed.success ? make(parsed.data) : { file, problem: `${file} is not ${what}` };
  } catch (error) {
    // A parser's message goes on with an excerpt: a kubeconfig's would hold a key.
    return { file, problem: `${file} cannot be read: ${messageOf(error).split("\n")[0]}` };
  }
}

/** The text of a file. @throws if it cannot be read or is too large */
export function readText(file: string): string {
  if (statSync(file).size > MAX_FILE_OCTETS) throw new Error("it is larger than 1 MiB");
  return readFileSync(file, "utf8");
}

/** The value of `--name=value` or `--name value`; the last one counts, as for kube-apiserver. */
function flagIn(words: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  words.forEach((word, index) => {
    if (word.startsWith(`--${name}=`)) found = word.slice(name.length + 3);
    else if (word === `--${name}`) found = words[index + 1];
  });
  return found;
}

const UNIT_MS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, ns: 1e-6 } as const;

/** Milliseconds of a duration as Go writes it: `20s`, `1m10s`, `1.5h`, `0`; undefined if it is none. */
export function goDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) {
    total += Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  }
  return total;
}
