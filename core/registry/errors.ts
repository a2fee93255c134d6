import { GatewayError } from '../errors.ts'

/**
 * True if a registry rejected a request permanently, so that a retry is useless: the request was malformed (a
 * `TypeError`) or access is denied (`denied`). All other errors are outages.
 */
export function isPermanent(error: unknown): boolean {
  if (error instanceof TypeError) return true
  return error instanceof Error && 'denied' in error && error.denied === true
}

/** True if the registry is available but denied access, or limits the rate after denials (429). */
export function isAccessDenied(error: unknown): boolean {
  if (isPermanent(error)) return true
  return error instanceof Error && error.cause instanceof GatewayError && error.cause.code === 429
}

/** Describes a failed lookup for clients. Causes are only logged. */
export function toRegistryFault(error: unknown): string {
  return isAccessDenied(error) ? 'the registry denies access' : 'the registry is unavailable'
}
