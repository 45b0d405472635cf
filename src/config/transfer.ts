import path from "node:path";
import type { SocketAddress } from "../lib/listening.js";
import type { TransferConfig, TsigKeyConfig, ZoneTransferConfig } from "./config.js";
import { checkSecrecy } from "./credentials.js";
import { parseName } from "./name.js";
import { builtIn } from "./option.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import type { MainInput } from "./schema.js";
import { notifyOptions, tsigKeyOptions, zoneTransferOptions } from "./schema-transfer.js";
import type { ZoneInput } from "./schema-zone.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";
import { warnOfClause, warnOfKeyNames, warnOfSecondaries } from "./transfer-warnings.js";
import { readTsigSecret } from "./tsig-secret.js";
import type { Valid } from "./validate.js";

/**
 * How often a secondary asks for the serial of a zone whose answers follow health, in seconds, if nothing says otherwise. It is
 * the second line behind NOTIFY: one that was lost, or refused, costs a minute at most.
 */
export const TRANSFERRED_REFRESH_SECONDS = 60;

/** How soon it asks again after no answer, in seconds. */
export const TRANSFERRED_RETRY_SECONDS = 30;

/** Completes `transfer:` of the main file, and tries the secrets so that a mistake is found before it matters. */
export function buildTransfer(source: Source, input: MainInput["transfer"], report: Report): TransferConfig {
  const keys = Object.entries(input?.keys ?? {}).flatMap(([name, key]): TsigKeyConfig[] => {
    const at = ["transfer", "keys", name];
    const parsed = parseName(name, "any");
    if (!("value" in parsed)) {
      const message = `transfer.keys has the name ${quote(name)}: ${parsed.why}.`;
      report(problemAtKey(source, at, { message, remedy: parsed.remedy, code: parsed.code }));
      return [];
    }
    const secretFile = path.resolve(source.directory, key.secretFile);
    const algorithm = key.algorithm ?? builtIn(tsigKeyOptions.algorithm);
    checkSecret(source, [...at, "secretFile"], { name: parsed.value, algorithm, secretFile }, report);
    return [{ name: parsed.value, algorithm, secretFile }];
  });
  warnOfKeyNames(source, Object.keys(input?.keys ?? {}), report);
  return { keys };
}

function checkSecret(source: Source, at: Path, key: TsigKeyConfig, report: Report): void {
  const file = key.secretFile;
  const read = readTsigSecret(file);
  if ("why" in read) {
    report(
      problemAt(source, at, {
        message: `${formatPath(at)} is ${quote(file)}: ${read.why}.`,
        remedy: 'Write the secret in base64 into it, such as "openssl rand -base64 32" prints.',
        code: "CONFIG_TSIG_SECRET",
      }),
    );
    return;
  }
  warnOfClause(source, at, key, read.clause, report);
  checkSecrecy(source, at, file, report, "may pose as a secondary or as this server");
}

/**
 * Completes `transfer:` of a zone file.
 *
 * @param main names of the keys of the main file, and where queries are answered
 */
export function buildZoneTransfer(
  source: Source,
  valid: Valid<ZoneInput>,
  { keys, listen }: { readonly keys: ReadonlySet<string>; readonly listen: readonly SocketAddress[] },
  report: Report,
): ZoneTransferConfig | undefined {
  const input = valid.value.transfer;
  if (input === undefined) return undefined;
  const { to = [], allow = [], notify, versions } = input;
  checkKeys(source, ["transfer", "to"], to, keys, report);
  checkKeys(source, ["transfer", "allow"], allow, keys, report);
  warnOfSecondaries(
    source,
    to.map(({ address }) => address),
    listen,
    report,
  );
  if (to.length + allow.length === 0 && !valid.damaged(["transfer"])) {
    report(
      problemAt(source, ["transfer"], {
        message: "transfer names nobody, so nobody may transfer the zone.",
        remedy: 'Name the secondary servers under "to", such as "to: [10.0.0.53]", or remove "transfer".',
        code: "CONFIG_TRANSFER_NOBODY",
        severity: "warning",
      }),
    );
  }
  return {
    to: to.map(({ address, key }) => ({ ...address, ...(key === undefined ? {} : { key }) })),
    allow: allow.map(({ from, key }) => ({ from, ...(key === undefined ? {} : { key }) })),
    notify: { minIntervalMs: notify?.minInterval ?? builtIn(notifyOptions.minInterval) },
    versions: versions ?? builtIn(zoneTransferOptions.versions),
  };
}

/** Reports keys that the main file does not have. */
function checkKeys(
  source: Source,
  at: Path,
  entries: readonly { readonly key?: string | undefined }[],
  keys: ReadonlySet<string>,
  report: Report,
): void {
  for (const [index, { key }] of entries.entries()) {
    if (key === undefined || keys.has(key)) continue;
    const where = source.positions.isList(at) ? [...at, index, "key"] : [...at, "key"];
    const known = [...keys];
    report(
      problemAt(source, where, {
        message: `${formatPath(where)} is ${quote(key)}, which is no key of the main file.`,
        remedy:
          known.length === 0
            ? `Add it to the main file: "transfer: { keys: { ${key}: { secretFile: ${key}.tsig } } }".`
            : `Write one of ${known.join(", ")}, or add it under "transfer.keys" of the main file.`,
        code: "CONFIG_TSIG_KEY",
      }),
    );
  }
}
