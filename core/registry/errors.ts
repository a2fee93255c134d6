import { GatewayError } from '../errors.ts'

/**
 * Whether a registry refused, so that asking again is of no use until somebody changes something: what it was told is malformed
 * (a `TypeError`), or it may not be told it (`denied`). Anything else is an outage.
 */
export function isPermanent(error: unknown): boolean {
  if (error instanceof TypeError) return true
  return error instanceof Error && 'denied' in error && error.denied === true
}

/** Whether a registry that told nothing is there: it refused, or puts off whom it has refused too often (429). */
export function isAccessDenied(error: unknown): boolean {
  if (isPermanent(error)) return true
  return error instanceof Error && error.cause instanceof GatewayError && error.cause.code === 429
}

/** What whoever asks, a stranger perhaps, is told of a registry that told nothing. Why is for the log. */
export function toRegistryFault(error: unknown): string {
  return isAccessDenied(error) ? 'the registry refuses access' : 'the registry does not answer'
}
