import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { HEADER_MAX_BYTES } from '../limits.ts'

/** Creates the error for a head above {@link HEADER_MAX_BYTES} (RFC 6585 §5). */
export function tooLargeHead(): GatewayError {
  const detail = `request line and headers exceed the limit of ${HEADER_MAX_BYTES} bytes`
  return new GatewayError(GATEWAY_ID, 431, detail)
}
