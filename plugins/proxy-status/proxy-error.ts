import type { Exchange } from '../../core/exchange.ts'

/** Why there was no connection, by what Node.js and OpenSSL say of it. */
const CONNECT_ERRORS: readonly (readonly [said: RegExp, error: string])[] = [
  [/\b(?:ENOTFOUND|EAI_NODATA|EAI_NONAME|EAI_FAIL)\b/, 'dns_error'],
  [/\b(?:EAI_AGAIN|ETIMEOUT)\b/, 'dns_timeout'],
  [/\b(?:ENETUNREACH|EHOSTUNREACH)\b/, 'destination_ip_unroutable'],
  [/\bETIMEDOUT\b/, 'connection_timeout'],
  [/certificate|altnames|issuer/i, 'tls_certificate_error'],
  [/\b(?:SSL|TLS)\b|wrong version number|EPROTO/i, 'tls_protocol_error'],
]

/** What else the gateway says of itself, by status. */
const STATUS_ERRORS: Readonly<Record<number, string>> = {
  401: 'http_request_denied',
  403: 'http_request_denied',
  429: 'http_request_denied',
  500: 'proxy_internal_error',
  508: 'proxy_loop_detected',
}

/**
 * The error type of a reply the gateway made itself (RFC 9209 §2.3). Undefined: a service made it, or it is no error.
 *
 * What is wrong with a request is `http_request_error`.
 */
export function findProxyError(x: Exchange): string | undefined {
  const { status, failure, failureKind } = x
  if (status < 400 || x.upstreamReplyMs > 0) return undefined
  switch (failureKind) {
    case 'connect':
      return CONNECT_ERRORS.find(([said]) => said.test(failure))?.[1] ?? 'connection_refused'
    case 'connect-timeout':
      return 'connection_timeout'
    case 'full':
      return 'connection_limit_reached'
    case 'timeout':
      return 'http_response_timeout'
    case 'malformed':
    case 'foreign':
      return 'http_protocol_error'
    case 'closed':
    case 'stopped':
    case 'unsent':
      return 'connection_terminated'
    case 'no-node':
      return 'destination_unavailable'
    default:
      return findOther(x)
  }
}

function findOther({ status, route, upstream }: Exchange): string {
  const known = STATUS_ERRORS[status]
  if (known !== undefined) return known
  if (status === 404 && (route === undefined || upstream === undefined))
    return 'destination_not_found'
  if (status < 500) return 'http_request_error'
  // Parked too long, draining, out of memory: what is asked for cannot be had now.
  return status === 504 ? 'http_response_timeout' : 'destination_unavailable'
}
