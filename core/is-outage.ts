import { GatewayError } from './errors.ts'

const OUTAGES: readonly number[] = [503, 507]

/**
 * Whether the storage of records or events is unavailable or full. The adapter has already logged it; the caller
 * receives the error.
 */
export function isOutage(error: unknown): boolean {
  return error instanceof GatewayError && OUTAGES.includes(error.code)
}
