import type { Exchange } from '../../../core/exchange.ts'
import { type ConnectFault, findConnectFault } from '../../../core/upstream/connect-error.ts'

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

/** Error types of other gateway responses, by status. */
const STATUS_ERRORS: Readonly<Record<number, string>> = {
  401: 'http_request_denied',
  403: 'http_request_denied',
  429: 'http_request_denied',
  500: 'proxy_internal_error',
  508: 'proxy_loop_detected',
}

/**
 * Error type of a response that the gateway generated (RFC 9209 §2.3); undefined for responses of services and below 400.
 * Rejected requests are `http_request_error`.
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
  // Queue timeout, draining, out of memory.
  return status === 504 ? 'http_response_timeout' : 'destination_unavailable'
}
