import { GatewayError } from './errors.ts'

/**
 * Whether a service announced that it is unavailable (503), as one does that is being stopped or started. It is expected, unlike
 * a lost connection (502). Causes count: adapters wrap the error of the call.
 */
export function isStopping(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (cause instanceof GatewayError && cause.code === 503) return true
  return false
}
