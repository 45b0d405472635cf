/**
 * What the demo and a stand-in apiserver say to each other over the channel between parent and child process.
 * The parent tells, the child acknowledges each message by its `id`.
 */

/** How a stand-in is started. Sent over the channel: a private key on the command line could be read by anyone. */
export interface ApiserverSettings {
  /** IPv4 or IPv6 literal. */
  readonly address: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly certPem: string;
  readonly keyPem: string;
  /** Checks that fail from the start; empty = ready. */
  readonly failing: readonly string[];
  /** Milliseconds it goes on serving, unready, after SIGTERM; kube-apiserver's `--shutdown-delay-duration`. */
  readonly shutdownDelayMs: number;
}

/** Parent to child: the settings (once, first), then what is to change. */
export type ApiserverOrder = { readonly id: number } & (
  | { readonly kind: "start"; readonly settings: ApiserverSettings }
  | { readonly kind: "ready"; readonly failing: readonly string[] }
  | { readonly kind: "certificate"; readonly certPem: string; readonly keyPem: string }
);

/** Child to parent: an order was carried out, or why not. `port` is where it listens. */
export type ApiserverReport =
  | { readonly id: number; readonly ok: true; readonly port: number }
  | { readonly id: number; readonly ok: false; readonly code: string; readonly message: string };
