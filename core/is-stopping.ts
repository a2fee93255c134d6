import { GatewayError } from './errors.ts'

/**
 * Whether a service reported that it is unavailable (503), as it does while starting or stopping. This is expected,
 * unlike a lost connection (502). Also checks causes, since adapters wrap the error of the call.
 */
export function isStopping(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; { cause } = cause)
    if (cause instanceof GatewayError && cause.code === 503) return true
  return false
}
