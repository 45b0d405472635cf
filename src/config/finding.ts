/** What a problem says besides its place. */
export interface Finding {
  readonly message: string;
  readonly remedy: string;
  readonly code: string;
  readonly severity?: "error" | "warning";
}
