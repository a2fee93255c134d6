import { GatewayError } from '../../core/errors.ts'

/** Id of the broker's errors: the built-in service's name. */
const BROKER_ID = 'broker'

/** 503: what carries the messages cannot be reached. */
export function brokerUnavailable(cause: unknown): GatewayError {
  return new GatewayError(BROKER_ID, 503, 'the broker cannot be reached', { cause })
}

/** Another error of the broker. */
export function rejectInput(code: number, detail: string): GatewayError {
  return new GatewayError(BROKER_ID, code, detail)
}
