import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What `openssl genpkey` makes, by a short name. */
const KEY_KINDS = {
  p256: ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
  p384: ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
  p521: ["EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
  secp256k1: ["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
  rsa1024: ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
  rsa2048: ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
  rsa3072: ["RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
  rsaPss: ["RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"],
  ed25519: ["ED25519"],
  ed448: ["ED448"],
} as const satisfies Record<string, readonly string[]>;

export type KeyKind = keyof typeof KEY_KINDS;

/** A certificate to be made. */
export interface Wanted {
  /** Common name; empty = an empty subject. */
  readonly cn: string;
  /** Kind of key, and which one of that kind: two certificates with the same have the same key. */
  readonly key?: readonly [kind: KeyKind, which: string];
  /** Absent = self-signed. */
  readonly by?: Made;
  /** Lines of extensions as openssl's configuration has them; none = a certificate of version 1. */
  readonly extensions: readonly string[];
  /** Days from now; 1 before and 365 after by default. */
  readonly validDays?: readonly [from: number, to: number];
  readonly digest?: "sha1" | "sha256" | "sha384";
  /** More options of `openssl ca`. */
  readonly options?: readonly string[];
}

/** A certificate that was made. */
export interface Made {
  readonly kind: KeyKind;
  readonly certFile: string;
  readonly keyFile: string;
  readonly certPem: string;
  readonly keyPem: string;
}

/** As `openssl ca` takes moments: `20260102030405Z`. */
function moment(days: number): string {
  return `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 19).replace(/[-:T]/g, "")}Z`;
}

/** Makes certificates with the openssl program, in a folder of its own. */
export class CertificateMaker {
  readonly #folder: string;
  readonly #keys = new Map<string, { readonly keyFile: string; readonly requestFile: string }>();
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  make({ cn, key: [kind, which] = ["p256", String(this.#count)], by, ...wanted }: Wanted): Made {
    this.#count += 1;
    const folder = join(this.#folder, String(this.#count));
    mkdirSync(folder);
    const { keyFile, requestFile } = this.#key(kind, which);
    const config = join(folder, "openssl.cnf");
    const [from, to] = wanted.validDays ?? [-1, 365];
    // Signatures of these kinds have their digest built in.
    const withoutDigest = ["ed25519", "ed448"].includes(by?.kind ?? kind);
    writeFileSync(join(folder, "index.txt"), "");
    writeFileSync(
      config,
      [
        "[ca]\ndefault_ca = one",
        `[one]\ndatabase = ${folder}/index.txt\nnew_certs_dir = ${folder}\nrand_serial = yes\nunique_subject = no`,
        `policy = any\n${wanted.extensions.length === 0 ? "" : "x509_extensions = ext\n"}[any]\ncommonName = optional`,
        `[ext]\n${wanted.extensions.join("\n")}`,
        // A section that a line of extensions may name.
        `[names]\n${Array.from({ length: 200 }, (_, index) => `DNS.${index + 1} = node${index}.k8s.example.com`).join("\n")}`,
        "DNS.201 = api.k8s.example.com",
      ].join("\n"),
    );
    const certFile = join(folder, "cert.pem");
    const signer =
      by === undefined ? ["-selfsign", "-keyfile", keyFile] : ["-cert", by.certFile, "-keyfile", by.keyFile];
    openssl([
      ...["ca", "-batch", "-notext", "-preserveDN", "-config", config, "-in", requestFile, "-out", certFile],
      ...["-subj", cn === "" ? "/" : `/CN=${cn}`, "-startdate", moment(from), "-enddate", moment(to)],
      ...["-md", withoutDigest ? "null" : (wanted.digest ?? "sha256"), ...signer, ...(wanted.options ?? [])],
    ]);
    return { kind, certFile, keyFile, certPem: readFileSync(certFile, "utf8"), keyPem: readFileSync(keyFile, "utf8") };
  }

  #key(kind: KeyKind, which: string) {
    const name = `${kind}-${which}`;
    let files = this.#keys.get(name);
    if (files === undefined) {
      files = { keyFile: join(this.#folder, `${name}.key`), requestFile: join(this.#folder, `${name}.csr`) };
      openssl(["genpkey", "-algorithm", ...KEY_KINDS[kind], "-out", files.keyFile]);
      openssl(["req", "-new", "-key", files.keyFile, "-subj", "/CN=any", "-out", files.requestFile]);
      this.#keys.set(name, files);
    }
    return files;
  }
}

function openssl(options: readonly string[]): void {
  // Without the machine's own configuration, which may set policies.
  execFileSync("openssl", options, { stdio: "pipe", env: { ...process.env, OPENSSL_CONF: "/dev/null" } });
}
