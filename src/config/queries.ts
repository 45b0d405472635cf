import path from "node:path";
import type { QueriesConfig } from "./config.js";
import { builtIn } from "./option.js";
import { quote } from "./quote.js";
import type { MainInput } from "./schema.js";
import { rateLimitOptions, tcpOptions } from "./schema-queries.js";
import { readCookieSecrets } from "./secrets.js";
import { problemAt, type Report, type Source } from "./source.js";

/** Completes `queries:` with its defaults, and tries the secrets so that a mistake is found before it matters. */
export function buildQueries(source: Source, input: MainInput["queries"], report: Report): QueriesConfig {
  const { allow, rateLimit, cookieSecretFile, identity, version, tcp } = input ?? {};
  const secretFile = cookieSecretFile === undefined ? undefined : path.resolve(source.directory, cookieSecretFile);
  if (secretFile !== undefined) {
    const read = readCookieSecrets(secretFile);
    if ("why" in read) {
      report(
        problemAt(source, ["queries", "cookieSecretFile"], {
          message: `queries.cookieSecretFile is ${quote(secretFile)}: ${read.why}.`,
          remedy: 'Write one line of 32 hexadecimal digits into it (such as "openssl rand -hex 16" prints), or two.',
          code: "CONFIG_COOKIE_SECRET",
        }),
      );
    }
  }
  return {
    ...(allow === undefined ? {} : { allow }),
    ...(rateLimit === undefined
      ? {}
      : {
          rateLimit: {
            perSecond: rateLimit.perSecond,
            slip: rateLimit.slip ?? builtIn(rateLimitOptions.slip),
            ipv4Prefix: rateLimit.ipv4Prefix ?? builtIn(rateLimitOptions.ipv4Prefix),
            ipv6Prefix: rateLimit.ipv6Prefix ?? builtIn(rateLimitOptions.ipv6Prefix),
          },
        }),
    ...(secretFile === undefined ? {} : { cookieSecretFile: secretFile }),
    ...(identity === undefined ? {} : { identity }),
    ...(version === undefined ? {} : { version }),
    tcp: {
      maxConnections: tcp?.maxConnections ?? builtIn(tcpOptions.maxConnections),
      maxPerClient: tcp?.maxPerClient ?? builtIn(tcpOptions.maxPerClient),
      idleMs: tcp?.idleTimeout ?? builtIn(tcpOptions.idleTimeout),
    },
  };
}
