import type { Name } from "../wire/name.js";
import type { CompiledAnswer, CompiledNode, NamedNode } from "./answer.js";

/**
 * Nodes as their names and one run of numbers, for the way to another thread: a structured clone of all their objects
 * takes longer on both sides, and leaves more to collect over there, for which queries wait. Both ends are of one build,
 * so the layout may change at will; octets stand four in a number, in the machine's order.
 */
export interface PackedNodes {
  readonly names: readonly Name[];
  readonly words: Words;
}

type Words = Int32Array<ArrayBuffer>;

const BELOW: readonly CompiledNode["below"][] = ["nxdomain", "wildcard", "fallback"];
const NONE = -1;

/** Packed before, as most are that health comes back to. */
const known = new WeakMap<CompiledNode, Words>();

/** Packs nodes, in their order. */
export function packNodes(nodes: readonly NamedNode[]): PackedNodes {
  const parts = nodes.map(({ node }) => packNode(node));
  const words = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    words.set(part, at);
    at += part.length;
  }
  return { names: nodes.map(({ name }) => name), words };
}

/** The nodes that were packed; their octets are views of `words`. */
export function unpackNodes({ names, words }: PackedNodes): NamedNode[] {
  const reader = createReader(words);
  return names.map((name) => ({ name, node: readNode(reader) }));
}

function packNode(node: CompiledNode): Words {
  const present = known.get(node);
  if (present !== undefined) return present;
  const own = node.fallback === "nodata" ? [] : [{ type: NONE, answer: node.fallback }];
  const all = [...own, ...node.types];
  const words = [BELOW.indexOf(node.below), node.anyType ?? NONE, all.length];
  for (const { type, answer } of all) {
    words.push(type);
    pushAnswer(words, answer);
  }
  const packed = Int32Array.from(words);
  known.set(node, packed);
  return packed;
}

function readNode(reader: Reader): CompiledNode {
  const below = BELOW[reader.number()] ?? "nxdomain";
  const anyType = reader.number();
  const types: { type: number; answer: CompiledAnswer }[] = [];
  let fallback: CompiledNode["fallback"] = "nodata";
  for (let left = reader.number(); left > 0; left -= 1) {
    const type = reader.number();
    const answer = readAnswer(reader);
    if (type === NONE) fallback = answer;
    else types.push({ type, answer });
  }
  return anyType === NONE ? { types, fallback, below } : { types, fallback, anyType, below };
}

function pushAnswer(words: number[], answer: CompiledAnswer): void {
  const { rotation } = answer;
  words.push(answer.flags, answer.answerCount, answer.authorityCount, answer.additionalCount, answer.baseLength);
  words.push(answer.serialAt, answer.requiredLength, answer.requiredAdditional);
  words.push(rotation.at, rotation.count, rotation.stride, rotation.sent);
  pushOctets(words, answer.body);
  words.push(answer.pointers.length, ...answer.pointers);
}

function readAnswer(reader: Reader): CompiledAnswer {
  return {
    flags: reader.number(),
    answerCount: reader.number(),
    authorityCount: reader.number(),
    additionalCount: reader.number(),
    baseLength: reader.number(),
    serialAt: reader.number(),
    requiredLength: reader.number(),
    requiredAdditional: reader.number(),
    rotation: { at: reader.number(), count: reader.number(), stride: reader.number(), sent: reader.number() },
    body: reader.octets(),
    pointers: reader.numbers(),
  };
}

function pushOctets(words: number[], octets: Uint8Array): void {
  const padded = new Uint8Array((octets.length + 3) & ~3);
  padded.set(octets);
  words.push(octets.length, ...new Int32Array(padded.buffer));
}

/** Takes from packed nodes in the order in which they were written. */
interface Reader {
  number(): number;
  numbers(): number[];
  /** A view. */
  octets(): Uint8Array;
}

function createReader(words: Words): Reader {
  let at = 0;
  const number = (): number => {
    at += 1;
    return words[at - 1] as number;
  };
  return {
    number,
    numbers() {
      const numbers: number[] = [];
      for (let left = number(); left > 0; left -= 1) numbers.push(number());
      return numbers;
    },
    octets() {
      const length = number();
      const octets = new Uint8Array(words.buffer, words.byteOffset + 4 * at, length);
      at += (length + 3) >>> 2;
      return octets;
    },
  };
}
