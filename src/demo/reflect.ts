/**
 * The three functions of the `Reflect` metadata proposal that `tsyringe`, a dependency of `@peculiar/x509`, looks
 * for when it is loaded. Import this file before `@peculiar/x509`. A metadata implementation that is already
 * there is left alone.
 */
type Metadata = Map<unknown, unknown>;

const metadataOf = new WeakMap<object, Metadata>();

function getOwnMetadata(key: unknown, target: object): unknown {
  return metadataOf.get(target)?.get(key);
}

function getMetadata(key: unknown, target: object): unknown {
  for (let at: object | null = target; at !== null; at = Reflect.getPrototypeOf(at)) {
    const metadata = metadataOf.get(at);
    if (metadata?.has(key)) return metadata.get(key);
  }
  return undefined;
}

function defineMetadata(key: unknown, value: unknown, target: object): void {
  const metadata = metadataOf.get(target) ?? new Map<unknown, unknown>();
  metadata.set(key, value);
  metadataOf.set(target, metadata);
}

if (!("getMetadata" in Reflect)) Object.assign(Reflect, { defineMetadata, getMetadata, getOwnMetadata });
