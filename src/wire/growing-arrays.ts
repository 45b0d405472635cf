/** A copy with room for `needed` elements, at least doubled. */
export function grown<T extends Uint8Array | Int32Array | Uint32Array>(array: T, needed: number): T {
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, array.length * 2));
  larger.set(array);
  return larger;
}
