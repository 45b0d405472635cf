import type { Position } from "../config/config.js";
import type { Name } from "../wire/name.js";

/** The records of one name and type while a zone is being built. */
export interface Entry {
  readonly name: Name;
  readonly type: number;
  readonly ttl: number;
  readonly rdatas: Uint8Array[];
  /** Where each of the records is written. */
  readonly positions: Position[];
  /** Where the first one is. */
  readonly position: Position;
  /** How messages name it: `registry.k8s.example.com. A`. */
  readonly what: string;
}

/** By {@link entryKey}. */
export type Entries = Map<string, Entry>;

/** What a check finds. `severity`: an error unless it is a warning. */
export type Report = (position: Position, code: string, message: string, remedy: string, severity?: "warning") => void;

export function entryKey(name: Name, type: number): string {
  return `${name} ${type}`;
}

/** Adds one record to those of its name and type. */
export function addRecord(
  entries: Entries,
  record: Pick<Entry, "name" | "type" | "ttl" | "position" | "what">,
  rdata: Uint8Array,
): void {
  const key = entryKey(record.name, record.type);
  const entry = entries.get(key) ?? { ...record, rdatas: [], positions: [] };
  entry.rdatas.push(rdata);
  entry.positions.push(record.position);
  entries.set(key, entry);
}
