import { GATEWAY_ID, GatewayError } from '../errors.ts'

/** Methods that the gateway has a word for; others pass, too (RFC 9110 §9.1). */
export const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** The error of a method that ends at a gateway: `CONNECT`, a tunnel to anywhere, and `TRACE`, which shows what is secret (RFC 9110 §9.3.6, §9.3.8, §15.5.6). */
export function rejectMethod(method: string): GatewayError {
  const detail = `method ${method} is not served here`
  return new GatewayError(GATEWAY_ID, 405, detail, { headers: ['allow', METHODS] })
}
