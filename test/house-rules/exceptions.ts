/** Files that break a rule of shape.test.ts today. Lines are only ever deleted: the rule fails for a file that is listed and keeps it. */

/** Files with a function that is too long. */
export const LONG_FUNCTIONS: readonly string[] = [];

/** Files that are too long. */
export const LONG_FILES: readonly string[] = [];

/** Import circles. */
export const IN_A_CIRCLE: readonly string[] = [];

/** Files that decide something and have no test in the mirror tree. */
export const WITHOUT_A_TEST: readonly string[] = [];
