import { X509Certificate } from "node:crypto";
import path from "node:path";
import { isMap, parseDocument } from "yaml";
import { z } from "zod";
import { readRegularFile } from "../../lib/regular-file.js";

/** Largest file of a credential, octets: bundles of authorities take a few hundred KiB. */
const MAX_OCTETS = 4 * 1024 * 1024;

/** Where Kubernetes puts the account of a Pod. */
const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** What it takes to talk to an API server. Read anew for every connection, so that files that are rotated count at once. */
export interface Credential {
  /** As written: an address, or a name that must not be resolved. */
  readonly host: string;
  readonly port: number;
  /** The name that the server's certificate must have; absent = the credential does not say. */
  readonly serverName?: string;
  /** PEM; absent = the system's authorities. */
  readonly ca?: string;
  /** PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
  readonly token?: string;
  /** Absent = it is not known when the client certificate or token ends. */
  readonly validity?: Validity;
}

/** How long a credential holds; milliseconds since 1970. */
export interface Validity {
  readonly endsAtMs: number;
  /** From when on its operator is to be told. */
  readonly warnFromMs: number;
}

/** A credential that cannot be used; the message is one clause for the operator and holds no secret. */
export class CredentialError extends Error {}

const named = <T extends z.ZodType>(key: string, content: T) =>
  z.array(z.object({ name: z.string(), [key]: content })).nullish();

const kubeconfig = z.object({
  "current-context": z.string().optional(),
  contexts: named("context", z.object({ cluster: z.string(), user: z.string() })),
  clusters: named("cluster", z.record(z.string(), z.unknown())),
  users: named("user", z.record(z.string(), z.unknown())),
});

const cluster = z.object({
  server: z.string(),
  "certificate-authority": z.string().optional(),
  "certificate-authority-data": z.string().optional(),
  "tls-server-name": z.string().optional(),
  "insecure-skip-tls-verify": z.boolean().optional(),
  "proxy-url": z.string().optional(),
});

const user = z.object({
  "client-certificate": z.string().optional(),
  "client-certificate-data": z.string().optional(),
  "client-key": z.string().optional(),
  "client-key-data": z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
});

/** What kubectl can do and livezone does not, with what to do instead. */
const REFUSED: Readonly<Record<string, string>> = {
  exec: "it runs a program for its credential (exec)",
  "auth-provider": "it uses an authentication provider such as OIDC (auth-provider)",
  username: "it uses a password, which Kubernetes has not accepted since 1.19",
  as: "it acts as somebody else (as)",
};

/**
 * Reads a kubeconfig and the files it names. CA, client certificate and token are taken; whatever runs a program, asks somebody
 * or turns verification off is refused.
 *
 * @throws CredentialError
 */
export async function readKubeconfig(file: string): Promise<Credential> {
  const config = parseKubeconfig(await textOf(file), file);
  const context = pick(config.contexts, config["current-context"] ?? "", "context", file);
  const { cluster: clusterName, user: userName } = context as { cluster: string; user: string };
  const place = cluster.safeParse(pick(config.clusters, clusterName, "cluster", file));
  const rawUser = pick(config.users, userName, "user", file) as Record<string, unknown>;
  for (const [key, why] of Object.entries(REFUSED)) {
    if (rawUser[key] === undefined) continue;
    throw new CredentialError(
      `${file} cannot be used: ${why}; give livezone a client certificate or a token of its own (livezone kubeadm --discovery)`,
    );
  }
  const who = user.safeParse(rawUser);
  if (!place.success) throw new CredentialError(`${file}: the cluster ${clusterName} is not written as kubectl would`);
  if (!who.success) throw new CredentialError(`${file}: the user ${userName} is not written as kubectl would`);
  if (place.data["insecure-skip-tls-verify"] === true)
    throw new CredentialError(`${file} turns verification off (insecure-skip-tls-verify): name the authority instead`);
  if (place.data["proxy-url"] !== undefined)
    throw new CredentialError(`${file} goes through a proxy (proxy-url), which livezone does not`);
  const relative = (name: string): string => path.resolve(path.dirname(file), name);
  const of = (text: string | undefined, name: string | undefined): Promise<string | undefined> =>
    text !== undefined
      ? Promise.resolve(Buffer.from(text, "base64").toString("utf8"))
      : name === undefined || name === ""
        ? Promise.resolve(undefined)
        : textOf(relative(name));
  const ca = await of(place.data["certificate-authority-data"], place.data["certificate-authority"]);
  const cert = await of(who.data["client-certificate-data"], who.data["client-certificate"]);
  const key = await of(who.data["client-key-data"], who.data["client-key"]);
  const { token: written, tokenFile } = who.data;
  const token = tokenFile === undefined || tokenFile === "" ? written : (await textOf(relative(tokenFile))).trim();
  if ((cert === undefined || key === undefined) && token === undefined)
    throw new CredentialError(
      `${file}: the user ${userName} has neither a client certificate with its key nor a token`,
    );
  return credentialOf(placeOf(place.data.server, file), { ca, cert, key, token, name: place.data["tls-server-name"] });
}

/**
 * The account of the Pod that livezone runs in.
 *
 * @throws CredentialError
 */
export async function readServiceAccount(env: NodeJS.ProcessEnv, folder = SERVICE_ACCOUNT): Promise<Credential> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (host === undefined || port === undefined)
    throw new CredentialError("KUBERNETES_SERVICE_HOST is not set: livezone does not run in a Pod");
  const token = (await textOf(path.join(folder, "token"))).trim();
  const ca = await textOf(path.join(folder, "ca.crt"));
  return credentialOf({ host, port: Number(port) }, { ca, token, name: "kubernetes.default.svc" });
}

function parseKubeconfig(text: string, file: string): z.output<typeof kubeconfig> {
  const document = parseDocument(text);
  const [error] = document.errors;
  // What the parser says may quote the file, which holds secrets.
  if (error !== undefined || !isMap(document.contents))
    throw new CredentialError(`${file} is no YAML mapping${error ? ` (${error.code})` : ""}`);
  const parsed = kubeconfig.safeParse(document.toJS({ maxAliasCount: 100 }));
  if (parsed.success) return parsed.data;
  throw new CredentialError(`${file} is no kubeconfig: see ${parsed.error.issues[0]?.path.join(".")}`);
}

function pick(
  list: readonly Record<string, unknown>[] | null | undefined,
  name: string,
  key: string,
  file: string,
): unknown {
  const found = list?.find((one) => one.name === name)?.[key];
  if (found !== undefined && found !== null) return found;
  throw new CredentialError(`${file} has no ${key} ${JSON.stringify(name)}`);
}

function placeOf(server: string, file: string): Pick<Credential, "host" | "port"> {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url?.protocol !== "https:")
    throw new CredentialError(`${file}: the server is ${JSON.stringify(server.slice(0, 100))}, which is no https URL`);
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? 443 : Number(url.port) };
}

interface Parts {
  readonly ca: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly token: string | undefined;
  readonly name: string | undefined;
}

function credentialOf(place: Pick<Credential, "host" | "port">, { ca, cert, key, token, name }: Parts): Credential {
  const client = cert === undefined || key === undefined ? undefined : { cert, key };
  const validity = client === undefined ? validityOfToken(token ?? "") : validityOfCertificate(client.cert);
  return {
    ...place,
    ...(name === undefined || name === "" ? {} : { serverName: name }),
    ...(ca === undefined ? {} : { ca }),
    ...(client === undefined ? {} : { client }),
    ...(token === undefined ? {} : { token }),
    ...(validity === undefined ? {} : { validity }),
  };
}

/** An operator is told this long before a credential ends, milliseconds. */
const WARNING_MS = 14 * 86_400_000;

/** One that lives shorter than twice the warning is renewed by a program: it is told when that is overdue. */
function validityOf(beginsAtMs: number, endsAtMs: number): Validity {
  const lifeMs = endsAtMs - beginsAtMs;
  return { endsAtMs, warnFromMs: endsAtMs - (lifeMs < 2 * WARNING_MS ? lifeMs / 10 : WARNING_MS) };
}

/** @throws CredentialError */
function validityOfCertificate(pem: string): Validity {
  try {
    const { validFrom, validTo } = new X509Certificate(pem);
    return validityOf(Date.parse(validFrom), Date.parse(validTo));
  } catch {
    throw new CredentialError("the client certificate cannot be parsed");
  }
}

/** Of a bound token (RFC 7519 §4.1.4); undefined for one that does not say. */
function validityOfToken(token: string): Validity | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const { exp, iat = 0 } = z.object({ exp: z.number(), iat: z.number().optional() }).parse(claims);
    return validityOf(iat * 1_000, exp * 1_000);
  } catch {
    return undefined;
  }
}

/** @throws CredentialError; what is no regular file would be waited for, and a large one read as a whole */
async function textOf(file: string): Promise<string> {
  const read = readRegularFile(file, MAX_OCTETS);
  if ("why" in read) throw new CredentialError(`${file} cannot be read: ${read.why}`);
  return read.content.toString("utf8");
}
