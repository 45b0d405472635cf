/** Writes docs/failover.md. */
export function writePage() {}
