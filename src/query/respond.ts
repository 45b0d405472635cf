import { encodeAnswer, type ReplyPlace, writeHeader } from "../answers/encode.js";
import type { AnswerTable } from "../answers/table.js";
import type { TransferRequest } from "../transfer/request.js";
import { CLASS, EXTENDED_ERROR, FLAG, HEADER_OCTETS, OPCODE, RCODE, TYPE } from "../wire/constants.js";
import { copyOctets, NO_WORDS, WordViews } from "../wire/words.js";
import { isWithinPrefixes } from "./access-list.js";
import { chaosText, writeChaos } from "./chaos.js";
import type { Client } from "./client.js";
import { CLIENT_COOKIE_OCTETS, isCookieLength } from "./cookies.js";
import { type QueryCounters, TRANSPORT, type TransportIndex } from "./counters.js";
import { decode, isQueryOperation, Query, u16 } from "./decode.js";
import { ERROR_OPTION_OCTETS, ReplyOpt } from "./edns.js";
import { type DefectReporter, writeServerFailure } from "./error-boundary.js";
import type { ErrorRateLimit } from "./error-rate-limit.js";
import type { QueryPolicy } from "./policy.js";
import { ReplySignature } from "./reply-signature.js";
import { replyLimit } from "./reply-size.js";
import { isTransferType, mayTransfer, readTransferRequest, rulesOf } from "./transfer-access.js";

/** What the responder works on. */
export interface ResponderState {
  table: AnswerTable;
  /** Until then queries are met with silence, so that a resolver asks the sibling server at once. */
  ready: boolean;
  /** Absent: everyone is answered, without limit, cookies or a word about the server; replaced on reload. */
  policy?: QueryPolicy;
  /** The site of a client, from 0, by which its answers are chosen. Absent: everyone is at site 0. */
  siteOf?: (client: Client) => number;
}

/** What a responder may be given besides its state. */
export interface ResponderOptions {
  /** Takes what a defect threw, and the query is SERVFAIL. Absent: it is thrown on. */
  readonly onDefect?: DefectReporter;
  /** Absent: every malformed message is told so. */
  readonly errorLimit?: ErrorRateLimit;
  /** Takes a request for a transfer that is to be granted, before the query is {@link HANDED_OVER}. Absent: none is granted. */
  readonly onTransfer?: (request: TransferRequest) => void;
}

/** In place of the length of a reply: the request asks for a transfer, which others answer, over TCP only. */
export const HANDED_OVER = -1;

/**
 * Answers one message. Allocates nothing. It is fastest where both buffers begin and end at whole 32-bit words, `at`
 * and `replyAt` too, and a thread has no more than four of them; the octets are the same in any case.
 *
 * @param request holds the message in `length` octets from `at` on
 * @param reply room from `replyAt` on: for 65 535 octets over TCP, 1232 over UDP, up to the next whole word. What stands
 *   behind the reply is then undefined
 * @param client who sent it
 * @returns octets of the reply, 0 for none; {@link HANDED_OVER} for a transfer
 */
export type Respond = (
  request: Uint8Array,
  at: number,
  length: number,
  reply: Uint8Array,
  replyAt: number,
  transport: TransportIndex,
  client: Client,
) => number;

/** Builds the responder of a thread: the ordered list of refusals, then the answer, then the limits. */
export function createResponder(
  state: ResponderState,
  counters: QueryCounters,
  options: ResponderOptions = {},
): Respond {
  const responder = new Responder(state, counters, options);
  return (request, at, length, reply, replyAt, transport, client) => {
    try {
      return responder.respond(request, at, length, reply, replyAt, transport, client);
    } catch (error) {
      if (options.onDefect === undefined) throw error;
      options.onDefect(error, request.subarray(at, at + length));
      counters.response(RCODE.SERVFAIL);
      return writeServerFailure(request, at, length, reply, replyAt);
    }
  };
}

class Responder {
  private readonly query = new Query();
  private readonly opt = new ReplyOpt();
  private readonly signature = new ReplySignature();
  private readonly reply: ReplyPlace = { octets: new Uint8Array(0), words: NO_WORDS, at: 0 };
  private readonly views = new WordViews();

  constructor(
    private readonly state: ResponderState,
    private readonly counters: QueryCounters,
    private readonly options: ResponderOptions,
  ) {}

  respond(
    request: Uint8Array,
    at: number,
    length: number,
    reply: Uint8Array,
    replyAt: number,
    transport: TransportIndex,
    client: Client,
  ): number {
    const { query, counters, views } = this;
    if (length < HEADER_OCTETS) return this.drop("short");
    const flags = u16(request, at + 2);
    if ((flags & FLAG.QR) !== 0) return this.drop("response");
    reply[replyAt] = request[at] as number;
    reply[replyAt + 1] = request[at + 1] as number;
    if (query.message !== request) {
      query.message = request;
      query.words = views.of(request);
    }
    query.at = at;
    query.length = length;
    query.transport = transport;
    if (query.client !== client) query.client = client;
    query.flags = flags;
    if (this.reply.octets !== reply) {
      this.reply.octets = reply;
      this.reply.words = views.of(reply);
    }
    this.reply.at = replyAt;
    const isWellFormed = decode(query);
    if (query.hasEdns) this.opt.prepare(query, this.state.policy);
    this.signature.clear();
    if (isWellFormed && query.hasQuestion && isQueryOperation(query)) counters.query(transport, query.type);
    return this.limitErrors(this.limitRate(this.refuseOrAnswer(isWellFormed)));
  }

  /** The list of refusals, in their order, and the answer for what passes it. */
  private refuseOrAnswer(isWellFormed: boolean): number {
    const { query, state } = this;
    const isQuery = isQueryOperation(query);
    // Of an operation that is not known here the form is not known either.
    if (!isWellFormed) return this.refuse(isQuery ? RCODE.FORMERR : RCODE.NOTIMP);
    if (!query.hasQuestion) return isQuery ? this.exchangeCookie() : this.refuse(RCODE.NOTIMP);
    if (!this.isAllowed()) return this.refuse(RCODE.REFUSED, EXTENDED_ERROR.PROHIBITED);
    // Behind the access list, since nothing is hashed for strangers.
    const badSignature = query.tsigAt >= 0 ? this.signature.verify(query, state.policy) : undefined;
    if (badSignature !== undefined) return this.refuse(badSignature);
    if (query.hasEdns && query.ednsVersion > 0) return this.refuse(RCODE.BADVERS);
    if (!isQuery) return this.refuse(refusalOfOperation(query), EXTENDED_ERROR.NOT_SUPPORTED);
    if (query.answerRecords !== 0) return this.refuse(RCODE.FORMERR);
    if (hasMalformedCookie(query)) return this.refuse(RCODE.FORMERR);
    if (isMetaType(query.type)) return this.refuse(RCODE.FORMERR);
    if (!isKnownClass(query.class)) return this.refuse(RCODE.REFUSED, EXTENDED_ERROR.NOT_SUPPORTED);
    if (isRefusedType(query.type)) return this.refuse(RCODE.REFUSED, EXTENDED_ERROR.NOT_SUPPORTED);
    if (isTransferType(query.type) && !this.mayTransfer()) {
      // RFC 5936 §2.2.1.
      return state.table.isZone(query.name)
        ? this.refuse(RCODE.REFUSED, EXTENDED_ERROR.NOT_SUPPORTED)
        : this.refuse(RCODE.NOTAUTH, EXTENDED_ERROR.NOT_AUTHORITATIVE);
    }
    if (query.class === CLASS.CH) return this.answerChaos();
    if (isTransferType(query.type)) return this.transfer();
    if (!this.find()) return this.refuse(RCODE.REFUSED, EXTENDED_ERROR.NOT_AUTHORITATIVE);
    if (!state.ready) return this.drop("not-ready");
    return this.answer();
  }

  private isAllowed(): boolean {
    const allow = this.state.policy?.allow;
    return allow === undefined || isWithinPrefixes(this.query.client, allow);
  }

  private mayTransfer(): boolean {
    const { query, signature, state, options } = this;
    if (query.class !== CLASS.IN || options.onTransfer === undefined) return false;
    const rules = rulesOf(query, state.policy?.transfer);
    return rules !== undefined && mayTransfer(rules, query.client, signature.signer?.key);
  }

  /** Answers a request for a transfer from who may have it. */
  private transfer(): number {
    const { query, state, signature, counters, options } = this;
    if (!state.ready) return this.drop("not-ready");
    if (query.transport === TRANSPORT.udp) {
      // A full transfer is for TCP (RFC 5936 §4.2); of an incremental one UDP tells the serial (RFC 1995 §2).
      if (query.type === TYPE.AXFR) return this.refuse(RCODE.FORMERR);
      query.type = TYPE.SOA;
      return this.find() ? this.answer() : this.refuse(RCODE.REFUSED, EXTENDED_ERROR.NOT_AUTHORITATIVE);
    }
    const request = readTransferRequest(query, signature.signer);
    if (request === undefined) return this.refuse(RCODE.FORMERR);
    counters.response(RCODE.NOERROR);
    options.onTransfer?.(request);
    return HANDED_OVER;
  }

  /** Looks the answer up. @returns whether the name lies in a zone of ours */
  private find(): boolean {
    const { query, state } = this;
    const site = state.siteOf === undefined ? 0 : state.siteOf(query.client);
    return state.table.find(query.name, query.type, site, query.hasEdns && query.dnssecOk);
  }

  private answer(): number {
    const { query, reply, opt, state, counters } = this;
    this.copyQuestion();
    if (query.hasEdns && state.policy?.isStale === true && followsHealth(query.type)) {
      opt.addError(EXTENDED_ERROR.STALE_ANSWER);
    }
    const room = replyLimit(query) - (query.hasEdns ? opt.size : 0) - (query.tsigAt >= 0 ? this.signature.size : 0);
    const { table } = state;
    const end = encodeAnswer(table, table.found, reply, query.name.length, query.flags & FLAG.RD, room);
    const { octets, at } = reply;
    if (((octets[at + 2] as number) & (FLAG.TC >>> 8)) !== 0) {
      // Over TCP there is nowhere else to ask.
      if (query.transport === TRANSPORT.tcp) return this.refuse(RCODE.SERVFAIL);
      counters.truncated();
    }
    // Nobody can be authoritative for all classes at once (RFC 1034 §3.7.1).
    if (query.class === CLASS.ANY) octets[at + 2] = (octets[at + 2] as number) & ~(FLAG.AA >>> 8);
    return this.finish(end, (octets[at + 3] as number) & 0xf);
  }

  /** The record of a CHAOS question, or a refusal. */
  private answerChaos(): number {
    const { query } = this;
    const text = chaosText(query, this.state.policy);
    if (text === undefined) return this.refuse(RCODE.REFUSED);
    this.copyQuestion();
    return this.finish(writeChaos(this.reply, query, text), RCODE.NOERROR);
  }

  /** A query without a question asks for a server cookie (RFC 7873 §5.4). */
  private exchangeCookie(): number {
    const { query, opt } = this;
    if (query.hasEdns && query.ednsVersion > 0) return this.refuse(RCODE.BADVERS);
    if (!query.hasEdns || this.state.policy?.cookies === undefined) return this.refuse(RCODE.FORMERR);
    if (!isCookieLength(query.cookieLength)) return this.refuse(RCODE.FORMERR);
    const hasOnlyClientCookie = query.cookieLength === CLIENT_COOKIE_OCTETS;
    return this.refuse(hasOnlyClientCookie || opt.isProven ? RCODE.NOERROR : RCODE.BADCOOKIE);
  }

  /** A reply without records that repeats the question where that could be read. @param error extended error, -1: none */
  private refuse(rcode: number, error = -1): number {
    const { query, opt } = this;
    this.copyQuestion();
    writeHeader(this.reply, FLAG.QR | (query.flags & (OPCODE_BITS | FLAG.RD)) | (rcode & 0xf), 0, 0, 0);
    if (!query.hasQuestion) this.reply.octets[this.reply.at + 5] = 0;
    if (query.hasEdns && error >= 0) {
      // No refusal is longer than the query for a client whose address may be forged.
      const isKnown = query.transport === TRANSPORT.tcp || opt.isProven;
      const size = query.questionEnd + opt.size + ERROR_OPTION_OCTETS;
      if (isKnown || size <= query.length) opt.addError(error);
    }
    return this.finish(query.questionEnd, rcode);
  }

  /** Counts a reply and ends it with OPT and TSIG, if the query had them. @param end octets of the reply so far */
  private finish(end: number, rcode: number): number {
    const { query, reply, opt, signature } = this;
    this.counters.response(rcode);
    const optEnd = query.hasEdns ? opt.append(reply, end, rcode) : end;
    return query.tsigAt < 0 ? optEnd : signature.append(reply, optEnd, query, this.state.policy);
  }

  private drop(reason: "short" | "response" | "not-ready"): number {
    this.counters.dropped(reason);
    return 0;
  }

  private copyQuestion(): void {
    const { query, reply } = this;
    const from = query.at + HEADER_OCTETS;
    const length = query.questionEnd - HEADER_OCTETS;
    copyOctets(query.message, query.words, from, reply.octets, reply.words, reply.at + HEADER_OCTETS, length);
  }

  /** What the response rate limit makes of a reply: itself, a truncated one, or none (0). */
  private limitRate(length: number): number {
    const { query, opt, reply, counters } = this;
    const limiter = this.state.policy?.limiter;
    if (limiter === undefined || length === 0 || query.transport !== TRANSPORT.udp) return length;
    if ((query.hasEdns && opt.isProven) || (query.tsigAt >= 0 && this.signature.isValid)) return length;
    const verdict = limiter.judge(query.client);
    if (verdict === "send") return length;
    counters.dropped(verdict === "slip" ? "rate-slipped" : "rate-limited");
    if (verdict === "drop" || !query.hasQuestion) return 0;
    // Header and question with TC, so that an honest client asks again over TCP.
    const { octets, at } = reply;
    writeHeader(reply, u16(octets, at + 2) | FLAG.TC, 0, 0, 0);
    if (!query.hasEdns) return query.questionEnd;
    opt.clear();
    return opt.append(reply, query.questionEnd, RCODE.NOERROR);
  }

  /** What the limit of error replies makes of a reply: itself, or none (0). */
  private limitErrors(length: number): number {
    const { errorLimit } = this.options;
    if (errorLimit === undefined || length === 0 || this.query.transport !== TRANSPORT.udp) return length;
    const rcode = (this.reply.octets[this.reply.at + 3] as number) & 0xf;
    if ((rcode !== RCODE.FORMERR && rcode !== RCODE.NOTIMP) || errorLimit.admit()) return length;
    this.counters.dropped("malformed");
    return 0;
  }
}

/** The operation, in the header's second word (RFC 1035 §4.1.1). */
const OPCODE_BITS = 0x7800;
const OPCODE_SHIFT = 11;

/** NOTIFY is refused, since a primary needs no telling of a change (RFC 1996); other operations are not known. */
function refusalOfOperation({ flags }: Query): number {
  return (flags & OPCODE_BITS) === OPCODE.NOTIFY << OPCODE_SHIFT ? RCODE.REFUSED : RCODE.NOTIMP;
}

/** Types of which an endpoint's records are; ANY may be answered with one of them. */
function followsHealth(type: number): boolean {
  return type === TYPE.A || type === TYPE.AAAA || type === TYPE.SRV || type === TYPE.ANY;
}

/** Types that ask for something other than records of that type, and are not served (RFC 6895 §3.1). */
function isRefusedType(type: number): boolean {
  return type === TYPE.MAILA || type === TYPE.MAILB;
}

/** Types that cannot be asked for at all: they exist for one message only (RFC 6891 §6.1.1, RFC 8945 §4.2). */
function isMetaType(type: number): boolean {
  return type === TYPE.OPT || type === TYPE.TSIG || type === TYPE.TKEY;
}

/** The Internet, all classes, and CHAOS, in which a server is asked about itself. */
function isKnownClass(value: number): boolean {
  return value === CLASS.IN || value === CLASS.ANY || value === CLASS.CH;
}

function hasMalformedCookie({ hasEdns, cookieAt, cookieLength }: Query): boolean {
  return hasEdns && cookieAt >= 0 && !isCookieLength(cookieLength);
}
