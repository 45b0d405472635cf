import type { TransferRequest } from "../transfer/request.js";
import type { OutgoingTransfer, SendPart } from "../transfer/service.js";
import type { FromWorker } from "./worker-messages.js";

/** The transfers of the TCP thread: the main thread makes their messages, so that no query waits for them. */
export class TcpTransfers {
  private readonly open = new Map<number, SendPart>();
  private requested: TransferRequest | undefined;
  private number = 0;

  constructor(private readonly post: (message: FromWorker) => void) {}

  /** Takes the request for which the responder hands the query over. */
  readonly onTransfer = (request: TransferRequest): void => {
    this.requested = request;
  };

  /** Has the transfer made that was requested last; `send` is called for each message, as it can be sent. */
  begin(send: SendPart): OutgoingTransfer {
    const request = this.requested;
    if (request === undefined) throw new Error("no transfer was requested");
    this.requested = undefined;
    this.number += 1;
    const { number } = this;
    this.open.set(number, send);
    this.post({ kind: "transfer", number, request });
    return {
      more: () => this.post({ kind: "transfer-more", number }),
      end: (isComplete) => {
        if (this.open.delete(number)) this.post({ kind: "transfer-end", number, isComplete });
      },
    };
  }

  /** A message of a transfer came from the main thread. */
  take(number: number, message: Uint8Array | undefined, isLast: boolean): void {
    this.open.get(number)?.(message, isLast);
  }
}
