import { type IncomingHttpHeaders, request as requestHttp } from "node:http";
import { join } from "node:path";
import { afterThisTest, type Cleanup } from "../support/cleanup.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";

export const ENDPOINT = "api.k8s.example.test";

/** Path of a target's route. */
export function targetRoute(target: string, action?: string, endpoint = ENDPOINT): string {
  return `/api/v1/endpoints/${endpoint}/targets/${target}${action === undefined ? "" : `/${action}`}`;
}

export const TOKEN = "correct-horse-battery-staple";

/** Where a request goes: a way in to a server. */
export type Way = { readonly port: number } | { readonly socketPath: string };

export interface Asked {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, if it is JSON. */
  readonly json: unknown;
}

/** Asks, and reads the whole reply. */
export function askAt(
  way: Way,
  method: string,
  path: string,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer | object } = {},
): Promise<Asked> {
  const { headers = {}, body } = options;
  const raw = body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const type = raw === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = requestHttp(
      { ...way, host: "127.0.0.1", method, path, headers: { ...type, ...headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: jsonOf(text) });
        });
      },
    );
    request.on("error", reject);
    request.end(raw);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The code of a refusal. */
export function codeOf({ json }: Asked): string | undefined {
  return (json as { error?: { code?: string } } | undefined)?.error?.code;
}

/** The header that lets HTTP change state. */
export const AUTHORITY = { authorization: `Bearer ${TOKEN}` } as const;

/** A server with both ways in. */
export interface AdminServer {
  /** Port of DNS on loopback. */
  readonly dns: number;
  readonly livezone: RunningLivezone;
  readonly http: { readonly port: number };
  readonly socket: { readonly socketPath: string };
  readonly url: string;
}

/** A zone whose endpoint `api` has `cp1` and `cp2`, always up, and `solo` one target. */
export const STEADY_ZONE = `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
probe: { type: none }
endpoints:
  api:
    ttl: 1
    targets: { cp1: 127.0.0.11, cp2: [127.0.0.12, "::12"] }
  solo:
    targets: { cp1: 127.0.0.11 }
  pair:
    minHealthy: 2
    targets: { cp1: 127.0.0.11, cp2: 127.0.0.12 }
`;

/** Starts a server with a socket, HTTP and a token. */
export async function startAdminServer(
  options: {
    readonly zone?: string;
    readonly admin?: string;
    readonly main?: string;
    /** Default: any. */
    readonly httpPort?: number;
    readonly files?: Readonly<Record<string, string>>;
    readonly cleanup?: Cleanup;
  } = {},
): Promise<AdminServer> {
  const {
    zone = STEADY_ZONE,
    admin = "tokenFile: token",
    main = "",
    httpPort = 0,
    files = {},
    cleanup = afterThisTest,
  } = options;
  const dns = await freePort();
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]\nadmin: { socket: admin.sock, http: "127.0.0.1:${httpPort}", ${admin} }\nzones: [zones/*.yaml]\n${main}`,
      "zones/k8s.yaml": zone,
      token: `${TOKEN}\n`,
      ...files,
    },
    cleanup,
  });
  const started = await livezone.waitForLog("server started");
  const port = Number(String(started.http).split(":").at(-1));
  return {
    dns,
    livezone,
    http: { port },
    socket: { socketPath: join(livezone.folder, "admin.sock") },
    url: `http://127.0.0.1:${port}`,
  };
}
