import { GatewayError } from '../../core/errors.ts'

/** Error id: the name of the built-in service. */
const BROKER_ID = 'broker'

/** 503: the broker is unavailable. */
export function brokerUnavailable(cause: unknown): GatewayError {
  return new GatewayError(BROKER_ID, 503, 'the broker cannot be reached', { cause })
}

export function brokerError(code: number, detail: string): GatewayError {
  return new GatewayError(BROKER_ID, code, detail)
}
