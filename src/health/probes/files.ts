import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, type SecureContext } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import { type Clock, systemClock } from "../../lib/clock.js";
import { messageOf, UserError } from "../../lib/errors.js";
import { noticeOf, type Validity, validityOfCertificate, validityOfToken } from "./credentials.js";
import { SameNameAuthorities } from "./same-name-authorities.js";

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
  /**
   * Authorities and client certificate of an https probe.
   *
   * @param address the server's: of several authorities of one name, those that were chosen for it
   */
  secureContext(config: HttpsProbeConfig, address?: string): Promise<SecureContext>;
  /**
   * Looks which of several authorities of one name signed a server's certificate; see {@link SameNameAuthorities}.
   *
   * @returns whether {@link secureContext} gives another context for the server now, so that it should be tried again
   */
  chooseAuthority(config: HttpsProbeConfig, address: string, leaf: X509Certificate | undefined): boolean;
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

/** A token or client certificate of a probe that ends soon, or has ended. */
export interface ProbeCredentialEnd {
  readonly file: string;
  /** Wall clock, milliseconds since 1970. */
  readonly expiryMs: number;
  readonly isOver: boolean;
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
  onCredentialEnd?: (end: ProbeCredentialEnd) => void,
): ProbeFiles {
  return new RememberedFiles(clock, reader, onTrouble, onCredentialEnd);
}

/** What was made of the files of an https probe. */
interface MadeContext {
  readonly texts: readonly string[];
  readonly context: SecureContext;
  readonly sameName: SameNameAuthorities | undefined;
}

class RememberedFiles implements ProbeFiles {
  readonly #clock: Clock;
  readonly #reader: FileReader;
  readonly #onTrouble: ((trouble: ProbeFileTrouble) => void) | undefined;
  readonly #known = new Map<string, Known>();
  readonly #goodTokens = new Map<string, string>();
  /** What was last said of files, by the files. */
  readonly #told = new Map<string, string>();
  /** By {@link keyOf}. */
  readonly #contexts = new Map<string, MadeContext>();
  readonly #onCredentialEnd: ((end: ProbeCredentialEnd) => void) | undefined;
  /** By file: what it held, until when that is valid, and what was said of it. */
  readonly #credentials = new Map<string, { text: string; validity: Validity | undefined; said: string | undefined }>();

  constructor(
    clock: Clock,
    reader: FileReader,
    onTrouble: ((trouble: ProbeFileTrouble) => void) | undefined,
    onCredentialEnd: ((end: ProbeCredentialEnd) => void) | undefined,
  ) {
    this.#clock = clock;
    this.#reader = reader;
    this.#onTrouble = onTrouble;
    this.#onCredentialEnd = onCredentialEnd;
  }

  /** Says, once each, that a token or client certificate ends soon and that it has ended. */
  #watchEnd(file: string, text: string, validityOf: (text: string) => Validity | undefined): void {
    if (this.#onCredentialEnd === undefined) return;
    let known = this.#credentials.get(file);
    if (known?.text !== text) {
      known = { text, validity: validityOf(text), said: undefined };
      this.#credentials.set(file, known);
    }
    if (known.validity === undefined) return;
    const notice = noticeOf(known.validity, this.#clock.wallMs());
    if (notice === undefined || notice === known.said) return;
    known.said = notice;
    this.#onCredentialEnd({ file, expiryMs: known.validity.toMs, isOver: notice === "over" });
  }

  async token(path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined;
    const token = (await this.#text(path)).trim();
    if (/^[\x21-\x7e]+$/.test(token)) {
      this.#goodTokens.set(path, token);
      this.#watchEnd(path, token, validityOfToken);
      return token;
    }
    const last = this.#goodTokens.get(path);
    if (last === undefined)
      throw new UserError(`${path} holds no token of printable characters`, "PROBE_FILE_UNUSABLE");
    this.#tell(path, "it holds no token of printable characters");
    return last;
  }

  async secureContext(config: HttpsProbeConfig, address?: string): Promise<SecureContext> {
    const { context, sameName } = await this.#made(config);
    if (sameName === undefined || address === undefined) return context;
    return sameName.contextFor(serverOf(config, address)) ?? context;
  }

  chooseAuthority(config: HttpsProbeConfig, address: string, leaf: X509Certificate | undefined): boolean {
    const sameName = this.#contexts.get(keyOf(config))?.sameName;
    return sameName?.choose(serverOf(config, address), leaf) ?? false;
  }

  async #made(config: HttpsProbeConfig): Promise<MadeContext> {
    const paths = pathsOf(config);
    const texts = await Promise.all(paths.map((path) => (path === "" ? "" : this.#text(path))));
    const [, certificate, privateKey] = paths;
    if (certificate !== "" && privateKey !== "") this.#watchEnd(certificate, texts[1] ?? "", validityOfCertificate);
    const key = keyOf(config);
    const last = this.#contexts.get(key);
    if (last?.texts.every((old, index) => old === texts[index])) return last;
    const named = paths.filter((path) => path !== "").join(", ");
    try {
      const made = { texts, ...makeContext(config, texts) };
      this.#contexts.set(key, made);
      this.#told.delete(named);
      return made;
    } catch (error) {
      if (last === undefined) throw new UserError(`cannot use ${named}: ${messageOf(error)}`, "PROBE_FILE_UNUSABLE");
      this.#tell(named, messageOf(error));
      return last;
    }
  }

  /** Says once what is wrong with files whose content before serves. */
  #tell(files: string, problem: string): void {
    if (this.#told.get(files) === problem) return;
    this.#told.set(files, problem);
    this.#onTrouble?.({ files, problem });
  }

  async #text(path: string): Promise<string> {
    let file = this.#known.get(path);
    if (file === undefined) {
      file = { version: "", text: "", lookedMs: Number.NEGATIVE_INFINITY };
      this.#known.set(path, file);
    }
    if (file.version !== "" && this.#clock.monotonicMs() - file.lookedMs < LOOK_AGAIN_MS) return file.text;
    file.pending ??= this.#look(path, file);
    return file.pending;
  }

  async #look(path: string, file: Known): Promise<string> {
    try {
      const version = await this.#reader.version(path);
      if (version !== file.version) {
        file.text = await this.#reader.read(path);
        file.version = version;
      }
      this.#told.delete(path);
    } catch (error) {
      if (file.version === "") throw new UserError(`cannot read ${path}: ${messageOf(error)}`, "PROBE_FILE_UNREADABLE");
      this.#tell(path, messageOf(error));
    } finally {
      file.lookedMs = this.#clock.monotonicMs();
      delete file.pending;
    }
    return file.text;
  }
}

/** Paths of the authorities, the client's certificate and its key; empty for what is not given. */
function pathsOf({ ca, clientCertificate }: HttpsProbeConfig): readonly [string, string, string] {
  return [ca ?? "", clientCertificate?.cert ?? "", clientCertificate?.key ?? ""];
}

/** Equal for probes that use the same files. */
function keyOf(config: HttpsProbeConfig): string {
  return JSON.stringify(pathsOf(config));
}

/** Equal for probes that are shown the same certificate. */
function serverOf({ port, serverName }: HttpsProbeConfig, address: string): string {
  return `${address} ${port} ${serverName}`;
}

/**
 * @param texts what the files of {@link pathsOf} hold
 * @throws when they make no sense
 */
function makeContext(
  { ca, clientCertificate }: HttpsProbeConfig,
  [caText = "", cert = "", key = ""]: readonly string[],
): Omit<MadeContext, "texts"> {
  const authorities = ca === undefined ? [] : readAuthorities(caText);
  // Node takes an empty text for none, and would show no certificate.
  if (clientCertificate !== undefined && (cert.trim() === "" || key.trim() === ""))
    throw new RangeError("the client's certificate or its key is empty");
  const shown = clientCertificate === undefined ? {} : { cert, key };
  if (ca === undefined) return { context: createSecureContext(shown), sameName: undefined };
  // An intermediate may be named as the authority, as kubectl and curl allow.
  const trusting = (pem: string) => createSecureContext({ ca: pem, allowPartialTrustChain: true, ...shown });
  return { context: trusting(caText), sameName: SameNameAuthorities.of(authorities, trusting) };
}

/**
 * The certificates of a bundle. OpenSSL takes what it can read of one and is silent about the rest: of a file that is
 * being written, that may be nothing, and then no server is trusted any more.
 *
 * @throws when there is no certificate, or one that is cut off or broken
 */
function readAuthorities(pem: string): readonly string[] {
  const beginnings = pem.split("-----BEGIN CERTIFICATE-----").slice(1);
  if (beginnings.length === 0) throw new RangeError("no certificate in PEM form");
  return beginnings.map((rest) => new X509Certificate(`-----BEGIN CERTIFICATE-----${rest}`).toString());
}
