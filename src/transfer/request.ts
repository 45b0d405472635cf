import type { Name } from "../wire/name.js";

/** A request for a transfer that may be granted, as it is handed from the query path to who transfers. Plain data. */
export interface TransferRequest {
  readonly id: number;
  /** The zone, in the letter case of the request. */
  readonly zone: Name;
  /** AXFR or IXFR. */
  readonly type: number;
  /** For IXFR: the serial that the client has. */
  readonly serial?: number;
  /** Recursion desired. */
  readonly rd: boolean;
  readonly hasEdns: boolean;
  /** Address of who asks, as text. */
  readonly client: string;
  /** Who signed the request, and its MAC; absent: it is not signed. */
  readonly signature?: { readonly key: Name; readonly mac: Uint8Array };
}
