import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, type SecureContext } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import { type Clock, systemClock } from "../../lib/clock.js";
import { messageOf, UserError } from "../../lib/errors.js";

/**
 * A file is looked at again when it was last looked at this long ago, milliseconds: one look serves all the probes
 * of a moment, and a rotated certificate is taken up by the next probe but one.
 */
const LOOK_AGAIN_MS = 1000;

/**
 * Largest file that is read, octets: a bundle of all public authorities has some 250 KB. What is larger was put there by
 * mistake, and would be read into memory with every change.
 */
const MAX_FILE_OCTETS = 4 * 1024 * 1024;

/** What probes read from disk, re-read when it changes. */
export interface ProbeFiles {
  /** The token of a file, without surrounding white space; absent without a file. */
  token(path: string | undefined): Promise<string | undefined>;
  /** Authorities and client certificate of an https probe. */
  secureContext(config: HttpsProbeConfig): Promise<SecureContext>;
}

/** The part of the file system that is used; tests replace it. */
export interface FileReader {
  /** Something that differs when the file does. */
  version(path: string): Promise<string>;
  read(path: string): Promise<string>;
}

/** The machine's own files. Kubernetes swaps mounted secrets by a link, so the inode counts besides the time. */
export const systemFiles: FileReader = {
  async version(path) {
    const found = await stat(path);
    if (!found.isFile()) throw new RangeError("it is not a regular file");
    if (found.size > MAX_FILE_OCTETS) throw new RangeError(`it is larger than ${MAX_FILE_OCTETS} octets`);
    const { mtimeMs, ino, size } = found;
    return `${mtimeMs} ${ino} ${size}`;
  },
  read: (path) => readFile(path, "utf8"),
};

/** Files that cannot be used any more; what they held before serves. */
export interface ProbeFileTrouble {
  /** Their paths. */
  readonly files: string;
  readonly problem: string;
}

interface Known {
  version: string;
  text: string;
  lookedMs: number;
  pending?: Promise<string>;
}

/**
 * Reads and remembers files. Once a file was good, what it held last serves while it cannot be read or, for
 * certificates and keys, makes no sense: they are replaced one after the other, and probes must not fail for that.
 *
 * Rejects with a {@link UserError} when there is nothing to go by.
 */
export function createProbeFiles(
  clock: Clock = systemClock,
  reader: FileReader = systemFiles,
  onTrouble?: (trouble: ProbeFileTrouble) => void,
): ProbeFiles {
  const known = new Map<string, Known>();
  const goodTokens = new Map<string, string>();
  /** What was last said of files, by the files. */
  const told = new Map<string, string>();
  const contexts = new Map<string, { readonly texts: readonly string[]; readonly context: SecureContext }>();

  /** Says once what is wrong with files whose content before serves. */
  function tell(files: string, problem: string): void {
    if (told.get(files) === problem) return;
    told.set(files, problem);
    onTrouble?.({ files, problem });
  }

  async function look(path: string, file: Known): Promise<string> {
    try {
      const version = await reader.version(path);
      if (version !== file.version) {
        file.text = await reader.read(path);
        file.version = version;
      }
      told.delete(path);
    } catch (error) {
      if (file.version === "") throw new UserError(`cannot read ${path}: ${messageOf(error)}`, "PROBE_FILE_UNREADABLE");
      tell(path, messageOf(error));
    } finally {
      file.lookedMs = clock.monotonicMs();
      delete file.pending;
    }
    return file.text;
  }

  async function text(path: string): Promise<string> {
    let file = known.get(path);
    if (file === undefined) {
      file = { version: "", text: "", lookedMs: Number.NEGATIVE_INFINITY };
      known.set(path, file);
    }
    if (file.version !== "" && clock.monotonicMs() - file.lookedMs < LOOK_AGAIN_MS) return file.text;
    file.pending ??= look(path, file);
    return file.pending;
  }

  return {
    async token(path) {
      if (path === undefined) return undefined;
      const token = (await text(path)).trim();
      if (/^[\x21-\x7e]+$/.test(token)) {
        goodTokens.set(path, token);
        return token;
      }
      const last = goodTokens.get(path);
      if (last === undefined)
        throw new UserError(`${path} holds no token of printable characters`, "PROBE_FILE_UNUSABLE");
      tell(path, "it holds no token of printable characters");
      return last;
    },

    async secureContext({ ca, clientCertificate }) {
      const paths = [ca ?? "", clientCertificate?.cert ?? "", clientCertificate?.key ?? ""];
      const texts = await Promise.all(paths.map((path) => (path === "" ? "" : text(path))));
      const key = JSON.stringify(paths);
      const named = paths.filter((path) => path !== "").join(", ");
      const last = contexts.get(key);
      if (last?.texts.every((old, index) => old === texts[index])) return last.context;
      const [caText = "", cert = "", keyText = ""] = texts;
      try {
        if (ca !== undefined) checkAuthorities(caText);
        // Node takes an empty text for none, and would show no certificate.
        if (clientCertificate !== undefined && (cert.trim() === "" || keyText.trim() === ""))
          throw new RangeError("the client's certificate or its key is empty");
        const context = createSecureContext({
          // An intermediate may be named as the authority, as kubectl and curl allow.
          ...(ca === undefined ? {} : { ca: caText, allowPartialTrustChain: true }),
          ...(clientCertificate === undefined ? {} : { cert, key: keyText }),
        });
        contexts.set(key, { texts, context });
        told.delete(named);
        return context;
      } catch (error) {
        if (last !== undefined) {
          tell(named, messageOf(error));
          return last.context;
        }
        throw new UserError(`cannot use ${named}: ${messageOf(error)}`, "PROBE_FILE_UNUSABLE");
      }
    },
  };
}

/**
 * OpenSSL takes what it can read of a bundle and is silent about the rest: of a file that is being written, that may
 * be nothing, and then no server is trusted any more.
 *
 * @throws when there is no certificate, or one that is cut off or broken
 */
function checkAuthorities(pem: string): void {
  const beginnings = pem.split("-----BEGIN CERTIFICATE-----").slice(1);
  if (beginnings.length === 0) throw new RangeError("no certificate in PEM form");
  for (const rest of beginnings) new X509Certificate(`-----BEGIN CERTIFICATE-----${rest}`);
}
