import type { Exchange } from '../../core/exchange.ts'
import { type ConnectFault, findConnectFault } from '../../core/upstream/connect-error.ts'

/** Why there was no connection. */
const CONNECT_ERRORS: Readonly<Record<ConnectFault, string>> = {
  refused: 'connection_refused',
  name: 'dns_error',
  'name-timeout': 'dns_timeout',
  route: 'destination_ip_unroutable',
  timeout: 'connection_timeout',
  'client-certificate': 'tls_alert_received',
  certificate: 'tls_certificate_error',
  tls: 'tls_protocol_error',
  http2: 'http_protocol_error',
  closed: 'connection_terminated',
  other: 'connection_refused',
}

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
      return CONNECT_ERRORS[findConnectFault(failure)]
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
