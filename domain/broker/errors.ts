import { GatewayError } from '../../core/errors.ts'

/** Id used in errors, which is the name of the built-in service. */
const BROKER_ID = 'broker'

/** Returns a 503 error: the broker is unavailable. */
export function brokerUnavailable(cause: unknown): GatewayError {
  return new GatewayError(BROKER_ID, 503, 'the broker cannot be reached', { cause })
}

export function brokerError(code: number, detail: string): GatewayError {
  return new GatewayError(BROKER_ID, code, detail)
}
