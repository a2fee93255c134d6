import { GATEWAY_ID, GatewayError } from '../errors.ts'

/** Methods listed in `Allow`; others are also forwarded (RFC 9110 §9.1). */
export const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** Methods with a meaning for the gateway or most backends (RFC 9110 §9.3, RFC 5789, RFC 10008). */
export const STANDARD_METHODS: ReadonlySet<string> = new Set([
  ...ALLOWED_METHODS.split(', '),
  'QUERY',
  'CONNECT',
  'TRACE',
])

/**
 * Creates the error for `CONNECT`, a tunnel to any host, and `TRACE`, which exposes secrets (RFC 9110 §9.3.6, §9.3.8,
 * §15.5.6).
 */
export function rejectMethod(method: string): GatewayError {
  const detail = `method ${method} is not allowed`
  return new GatewayError(GATEWAY_ID, 405, detail, { headers: ['allow', ALLOWED_METHODS] })
}
