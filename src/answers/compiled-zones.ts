import type { Name } from "../wire/name.js";
import type { LiveZone, ZoneChange } from "../zone/live-zone.js";
import { changeMessage, type TableMessage, zoneMessage } from "./table-messages.js";
import { ZoneCompiler } from "./zone-compiler.js";

/** Whole zones that are kept as messages: several threads load the same ones, a little apart. */
const MAX_RECENT = 256;

/** Every zone that is served, compiled: whole for who asks for it, and the changes for who has it already. */
export class CompiledZones {
  private readonly compilers = new Map<Name, ZoneCompiler>();
  private readonly changed = new Set<Name>();
  private readonly recent = new Map<Name, TableMessage & { readonly kind: "zone" }>();

  /** Adds a zone, or another one in place of that of its name. */
  add(live: LiveZone): void {
    this.compilers.set(live.zone.name, new ZoneCompiler(live));
    this.recent.delete(live.zone.name);
  }

  remove(zone: Name): void {
    this.compilers.delete(zone);
    this.changed.delete(zone);
    this.recent.delete(zone);
  }

  /** Takes note of a change that a zone has made. */
  change(change: ZoneChange): void {
    const compiler = this.compilers.get(change.zone);
    if (compiler === undefined) return;
    compiler.touch(change);
    this.changed.add(change.zone);
  }

  names(): Iterable<Name> {
    return this.compilers.keys();
  }

  /** The message that carries a whole zone as it stands; `undefined` if there is no such zone. */
  whole(zone: Name): TableMessage | undefined {
    const compiler = this.compilers.get(zone);
    if (compiler === undefined) return undefined;
    const known = this.recent.get(zone);
    if (known?.serial === compiler.serial) return known;
    const message = zoneMessage(compiler.compile());
    if (this.recent.size === MAX_RECENT) this.recent.clear();
    this.recent.set(zone, message);
    return message;
  }

  /** The messages that carry what has changed since the last call: one for each zone, however often it changed. */
  takeChanges(): TableMessage[] {
    const messages: TableMessage[] = [];
    for (const zone of this.changed) {
      const taken = this.compilers.get(zone)?.takeUpdate();
      if (taken !== undefined) messages.push("removed" in taken ? changeMessage(taken) : zoneMessage(taken));
    }
    this.changed.clear();
    return messages;
  }
}
