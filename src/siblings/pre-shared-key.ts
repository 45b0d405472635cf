import { createHash } from "node:crypto";
import type { ConnectionOptions, TLSSocket, TlsOptions } from "node:tls";

/** A secret and the name under which it goes over the wire. */
export interface PreSharedKey {
  /** Tells which of two secrets is meant. A hash: of a random secret of 32 octets it tells nothing. */
  readonly identity: string;
  readonly secret: Uint8Array;
}

/** @param secret 32 octets */
export function preSharedKey(secret: Uint8Array): PreSharedKey {
  const hash = createHash("sha256").update("livezone sibling identity\n").update(secret).digest("hex");
  return { identity: `livezone-${hash.slice(0, 32)}`, secret };
}

/**
 * TLS 1.3 and nothing else (RFC 8446). Node hands secrets over by callbacks that name no hash, for which OpenSSL takes SHA-256:
 * so it is the suite with that hash. Every key exchange is also ephemeral: a secret that leaks opens no recording.
 */
const TLS13 = { minVersion: "TLSv1.3", maxVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" } as const;

/** Settings of the side that connects. */
export function clientSettings({ identity, secret }: PreSharedKey): ConnectionOptions {
  return {
    ...TLS13,
    pskCallback: () => ({ psk: secret, identity }),
    // There is no certificate: who knows the secret is a sibling.
    checkServerIdentity: () => undefined,
  };
}

/**
 * Settings of the side that listens. It has no certificate, so that without the secret no handshake succeeds.
 *
 * @param keys those that are accepted now
 * @param onKey a connection names one of them; whether it has the secret is known once its handshake is done
 */
export function serverSettings(
  keys: () => readonly PreSharedKey[],
  onKey: (socket: TLSSocket, identity: string) => void,
): TlsOptions {
  return {
    ...TLS13,
    pskCallback(socket, identity) {
      const key = keys().find((one) => one.identity === identity);
      if (key === undefined) return null;
      onKey(socket, identity);
      return key.secret;
    },
  };
}
