/**
 * Whether a registry refused, so that asking again is of no use until somebody changes something: what it was told is malformed
 * (a `TypeError`), or it may not be told it (`denied`). Anything else is an outage.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof TypeError) return true
  return error instanceof Error && 'denied' in error && error.denied === true
}
