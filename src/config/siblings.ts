import { networkInterfaces } from "node:os";
import path from "node:path";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import type { SiblingConfig, SiblingsConfig } from "./config.js";
import { checkSecrecy } from "./credentials.js";
import { builtIn } from "./option.js";
import { quote } from "./quote.js";
import type { MainInput } from "./schema.js";
import { parseSiblingName, siblingsOptions } from "./schema-siblings.js";
import { readSiblingSecrets } from "./secrets.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";

/** Most siblings of one server: each is told everything by each. */
const MAX_PEERS = 7;

/** Completes `siblings:`, and tries the secret so that a mistake is found before it matters. */
export function buildSiblings(
  source: Source,
  input: MainInput["siblings"],
  report: Report,
): SiblingsConfig | undefined {
  if (input === undefined) return undefined;
  const { name, listen } = input;
  const secretFile = path.resolve(source.directory, input.secretFile);
  checkSecret(source, secretFile, report);
  checkListen(source, listen, report);
  return {
    name,
    listen,
    peers: buildPeers(source, input, report),
    secretFile,
    shareOverrides: input.shareOverrides ?? builtIn(siblingsOptions.shareOverrides),
    holdAtMostMs: input.holdAtMost ?? builtIn(siblingsOptions.holdAtMost),
    whenIsolated: input.whenIsolated ?? builtIn(siblingsOptions.whenIsolated),
  };
}

function checkSecret(source: Source, file: string, report: Report): void {
  const at = ["siblings", "secretFile"];
  const read = readSiblingSecrets(file);
  if ("why" in read) {
    report(
      problemAt(source, at, {
        message: `siblings.secretFile is ${quote(file)}: ${read.why}.`,
        remedy: 'Write one line of 64 hexadecimal digits into it (such as "openssl rand -hex 32" prints), or two.',
        code: "CONFIG_SIBLING_SECRET",
      }),
    );
    return;
  }
  checkSecrecy(source, at, file, report, "can drain targets on every sibling");
}

function checkListen(source: Source, { address, port }: SocketAddress, report: Report): void {
  if (address !== "0.0.0.0" && address !== "::") return;
  report(
    problemAt(source, ["siblings", "listen"], {
      message: `siblings.listen is ${quote(formatAddress({ address, port }))}, so that everybody who reaches this machine can connect.`,
      remedy: "Write the one address by which the siblings reach this server.",
      code: "CONFIG_SIBLING_LISTEN_EVERYWHERE",
      severity: "warning",
    }),
  );
}

function buildPeers(
  source: Source,
  { name, listen, peers }: NonNullable<MainInput["siblings"]>,
  report: Report,
): readonly SiblingConfig[] {
  const entries = Object.entries(peers);
  if (entries.length === 0 || entries.length > MAX_PEERS) {
    report(
      problemAt(source, ["siblings", "peers"], {
        message: `siblings.peers names ${entries.length} servers.`,
        remedy: `Name the other servers of the zones, 1 to ${MAX_PEERS}, such as "ns2: 198.51.100.53:9854".`,
        code: "CONFIG_SIBLING_PEERS",
      }),
    );
  }
  const own = new Set(Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)));
  const seen = new Set<string>();
  return entries.flatMap(([written, at]): SiblingConfig[] => {
    const where = ["siblings", "peers", written];
    const parsed = parseSiblingName(written);
    if (!("value" in parsed)) {
      const message = `siblings.peers has the name ${quote(written)}: ${parsed.why}.`;
      report(problemAtKey(source, where, { message, remedy: parsed.remedy, code: parsed.code }));
      return [];
    }
    const place = formatAddress(at);
    if (seen.has(place) || (at.port === 0 && listen.port !== 0)) {
      const why = at.port === 0 ? "which has no port to connect to" : "where another peer is already";
      report(
        problemAt(source, where, {
          message: `siblings.peers.${written} is ${quote(place)}, ${why}.`,
          remedy: "Write the address and port on which that server listens for its siblings.",
          code: "CONFIG_SIBLING_PEERS",
        }),
      );
    }
    seen.add(place);
    // Another server on this machine has another port.
    const isHere = at.port === listen.port && (at.address === listen.address || own.has(at.address));
    if (parsed.value === name || isHere) {
      report(
        problemAt(source, where, {
          message: `siblings.peers.${written} is this server itself${isHere ? `: this machine has the address ${at.address}` : ""}.`,
          remedy: "Remove it: a server names only the others.",
          code: "CONFIG_SIBLING_ONESELF",
          severity: "warning",
        }),
      );
      return [];
    }
    return [{ name: parsed.value, ...at }];
  });
}
