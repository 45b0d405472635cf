import type { Name } from "../wire/name.js";
import type { CompiledZone, ZoneUpdate } from "./answer.js";
import { joinWords, packAnswers, packNode, type Words } from "./codec.js";
import type { AnswerTable } from "./table.js";

/**
 * What a thread is told of the zones it answers for. Each message is applied as a whole between two queries: none sees
 * half a zone. Names go as strings, which is faster than words; answers as the words of `codec.ts`.
 */
export type TableMessage =
  /** A zone, new or in place of the one of that name. `words`: its NODATA and NXDOMAIN, then a node for each name. */
  | {
      readonly kind: "zone";
      readonly zone: Name;
      readonly serial: number;
      readonly names: readonly Name[];
      readonly words: Words;
    }
  /** A change of a zone that is there. `words`: a node for each of `names`, which may be new. */
  | {
      readonly kind: "zone-changed";
      readonly zone: Name;
      readonly serial: number;
      readonly names: readonly Name[];
      readonly words: Words;
      readonly removed: readonly Name[];
    }
  | { readonly kind: "zone-removed"; readonly zone: Name };

/** The message that carries a whole zone. */
export function zoneMessage(compiled: CompiledZone): TableMessage & { readonly kind: "zone" } {
  const { name, serial, nodata, nxdomain, nodes } = compiled;
  const words = joinWords([packAnswers(nodata), packAnswers(nxdomain), ...nodes.map(({ node }) => packNode(node))]);
  return { kind: "zone", zone: name, serial, names: nodes.map(({ name }) => name), words };
}

/** The message that carries a change. */
export function changeMessage({ zone, serial, nodes, removed }: ZoneUpdate): TableMessage {
  const words = joinWords(nodes.map(({ node }) => packNode(node)));
  return { kind: "zone-changed", zone, serial, names: nodes.map(({ name }) => name), words, removed };
}

/** Applies a message. A change of a zone that the table lacks is passed over. */
export function applyTableMessage(table: AnswerTable, message: TableMessage): void {
  switch (message.kind) {
    case "zone":
      table.setZone(message.zone, message.serial, message.names, message.words);
      return;
    case "zone-changed":
      table.changeZone(message.zone, message.serial, message.names, message.words, message.removed);
      return;
    case "zone-removed":
      table.removeZone(message.zone);
  }
}
