import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { findProxyError } from '../../../../plugins/telemetry/proxy-status/proxy-error.ts'
import { runPlugin } from '../../../../sdk/testing.ts'

t.test('maps every kind of failure to an error type of RFC 9209', async (t) => {
  const cases: readonly [
    kind: Exchange['failureKind'],
    message: string,
    status: number,
    error: string | undefined,
  ][] = [
    ['connect', 'connect ECONNREFUSED 127.0.0.1:1', 502, 'connection_refused'],
    ['connect', '', 502, 'connection_refused'],
    ['connect', 'getaddrinfo ENOTFOUND backend', 502, 'dns_error'],
    ['connect', 'getaddrinfo EAI_AGAIN backend', 502, 'dns_timeout'],
    ['connect', 'connect EHOSTUNREACH 10.0.0.1:80', 502, 'destination_ip_unroutable'],
    ['connect', 'unable to verify the first certificate', 502, 'tls_certificate_error'],
    ['connect', 'write EPROTO ... wrong version number', 502, 'tls_protocol_error'],
    ['connect-timeout', '', 504, 'connection_timeout'],
    ['full', '', 503, 'connection_limit_reached'],
    ['timeout', '', 504, 'http_response_timeout'],
    ['malformed', '', 502, 'http_protocol_error'],
    ['foreign', '', 502, 'http_protocol_error'],
    ['closed', '', 502, 'connection_terminated'],
    ['stopped', '', 503, 'connection_terminated'],
    ['unsent', '', 502, 'connection_terminated'],
    ['no-node', '', 503, 'destination_unavailable'],
    ['', '', 401, 'http_request_denied'],
    ['', '', 413, 'http_request_error'],
    ['', '', 500, 'proxy_internal_error'],
    ['', '', 503, 'destination_unavailable'],
    ['', '', 504, 'http_response_timeout'],
    ['', '', 508, 'proxy_loop_detected'],
    ['', '', 200, undefined],
    ['connect', 'of an attempt before', 204, undefined],
  ]
  const { x } = await runPlugin({ name: 'none' })
  for (const [failureKind, failure, status, error] of cases) {
    Object.assign(x, { failureKind, failure, status, upstreamReplyMs: 0 })
    t.equal(findProxyError(x), error, `${failureKind} ${failure} ${status}`)
    x.upstreamReplyMs = 1
    t.equal(findProxyError(x), undefined, 'a response of a service')
  }
})
