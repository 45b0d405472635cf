import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { readRegularFile } from "../lib/regular-file.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import { problemAt, type Report, type Source } from "./source.js";

/** Largest PEM or token file, in octets: the bundle of all public authorities is about 230 KiB. */
const MAX_CREDENTIAL_OCTETS = 4 * 1024 * 1024;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g;

/*
 * Files that probes and the API read later are read once now, so that a mistake is found before it matters.
 * What they hold never goes into a message.
 */

/** A file of at least one certificate, each of which parses; the first one. Problems are reported at `path`. */
export function checkCertificates(
  source: Source,
  path: Path,
  file: string,
  report: Report,
): X509Certificate | undefined {
  const content = read(source, path, file, report);
  if (content === undefined) return undefined;
  const blocks = content.match(CERTIFICATE) ?? [];
  const fault = (why: string) =>
    report(
      problemAt(source, path, {
        message: `${formatPath(path)} is ${quote(file)}, ${why}.`,
        remedy: 'Name a PEM file: "-----BEGIN CERTIFICATE-----" and what follows.',
        code: "CONFIG_CERTIFICATE_INVALID",
      }),
    );
  let first: X509Certificate | undefined;
  for (const [index, block] of blocks.entries()) {
    try {
      const certificate = new X509Certificate(block);
      first ??= certificate;
    } catch {
      fault(`whose certificate ${index + 1} of ${blocks.length} cannot be parsed`);
      return undefined;
    }
  }
  if (first === undefined) fault("which holds no PEM certificate");
  return first;
}

/** The private key of `certificate`, unencrypted. Problems are reported at `path`. */
export function checkPrivateKey(
  source: Source,
  path: Path,
  file: string,
  certificate: X509Certificate | undefined,
  report: Report,
): void {
  const content = read(source, path, file, report);
  if (content === undefined) return;
  const fault = (why: string, remedy: string, code: string) =>
    report(problemAt(source, path, { message: `${formatPath(path)} is ${quote(file)}, ${why}.`, remedy, code }));
  let key: KeyObject;
  try {
    key = createPrivateKey(content);
  } catch {
    if (/ENCRYPTED/.test(content)) {
      fault(
        "which is encrypted",
        "Name a key file without a passphrase, readable by this user only.",
        "CONFIG_KEY_INVALID",
      );
    } else {
      fault(
        "which holds no PEM private key",
        'Name a PEM file: "-----BEGIN PRIVATE KEY-----" and what follows.',
        "CONFIG_KEY_INVALID",
      );
    }
    return;
  }
  if (certificate !== undefined && !certificate.checkPrivateKey(key)) {
    fault(
      "which is not the key of the certificate",
      "Name the key that the certificate was made for.",
      "CONFIG_KEY_MISMATCH",
    );
  }
}

/** A file with a token: one line of printable ASCII, as an HTTP header can carry it (RFC 6750 §2.1). */
export function checkToken(source: Source, path: Path, file: string, report: Report): void {
  const content = read(source, path, file, report);
  if (content === undefined || /^[\x21-\x7e]+$/.test(content.trim())) return;
  report(
    problemAt(source, path, {
      message: `${formatPath(path)} is ${quote(file)}, which ${content.trim() === "" ? "is empty" : "holds no token"}.`,
      remedy: "Put the token into it, on one line without spaces.",
      code: "CONFIG_TOKEN_INVALID",
    }),
  );
}

/**
 * Warns of a secret's file that group or others may read.
 *
 * @param harm what whoever has the secret can do
 */
export function checkSecrecy(source: Source, path: Path, file: string, report: Report, harm: string): void {
  let mode: number;
  try {
    mode = statSync(file).mode & 0o777;
  } catch {
    return;
  }
  if ((mode & 0o044) === 0) return;
  const who = (mode & 0o004) === 0 ? "its group" : "everybody on this machine";
  report(
    problemAt(source, path, {
      message: `${formatPath(path)} is ${quote(file)}, which ${who} may read (mode ${mode.toString(8).padStart(4, "0")}): whoever has it ${harm}.`,
      remedy: "Give the file to the user that livezone runs as, with mode 0600.",
      code: "CONFIG_TOKEN_FILE_MODE",
      severity: "warning",
    }),
  );
}

/** A program that a probe runs: found in PATH by its bare name, or executable at an absolute path. */
export function checkProgram(source: Source, at: Path, program: string, report: Report): void {
  const fault = (why: string, remedy: string) =>
    report(
      problemAt(source, at, {
        message: `${formatPath(at)} runs ${quote(program)}, ${why}.`,
        remedy,
        code: "CONFIG_PROBE_COMMAND",
      }),
    );
  if (program.includes("/")) {
    if (!isAbsolute(program)) fault("which is a relative path", "Write the whole path of the program.");
    else if (!isProgram(program)) fault("which is no program that this user can run", "Name an executable file.");
    return;
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  if (!folders.some((folder) => isProgram(join(folder, program)))) {
    fault("which is not in PATH", "Write the whole path of the program.");
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function read(source: Source, path: Path, file: string, report: Report): string | undefined {
  const result = readRegularFile(file, MAX_CREDENTIAL_OCTETS);
  if ("content" in result) return result.content.toString("latin1");
  report(
    problemAt(source, path, {
      message: `${formatPath(path)} is ${quote(file)}, which cannot be read: ${result.why}.`,
      remedy: "Name a file that this user can read; a relative name starts from the folder of the file that holds it.",
      code: "CONFIG_FILE_UNREADABLE",
    }),
  );
  return undefined;
}
