import t from 'tap'
import {
  createConsulError,
  isConsulError,
  toResponseError,
} from '../../../../../adapters/registry/consul/http/errors.ts'

t.test('converts error responses to errors with a remedy', async (t) => {
  const cases: [number, string, object][] = [
    [403, 'ACL not found', { denied: true, message: /rejected the token/ }],
    [403, '', { denied: true, message: /the token needs service:read/ }],
    [500, 'rpc error: Permission denied', { denied: true, notFound: false }],
    [429, 'too many', { denied: false, message: /http_max_conns_per_client/ }],
    [
      404,
      'Unknown check ID "x"',
      { notFound: true, message: /^Consul at a:8500 returned 404: Unknown/ },
    ],
    [500, 'CheckID "x" does not have associated TTL', { notFound: true }],
    [
      400,
      'Invalid tag',
      { notFound: false, denied: true, message: 'Consul at a:8500 returned 400: Invalid tag' },
    ],
    [500, 'No cluster leader', { notFound: false, denied: false }],
    [502, '<html>', { denied: false, message: 'Consul at a:8500 returned 502: <html>' }],
  ]
  for (const [status, text, expected] of cases)
    t.match(toResponseError(status, text, 'a:8500', 'service:read'), expected, `${status} ${text}`)
})

t.test('reports responses that are not from Consul with their address', async (t) => {
  const cases: [number, string, object][] = [
    [404, '<html>', { notFound: true, message: /: it returned 404: <html>$/ }],
    [404, '404 page not found', { notFound: true, denied: false }],
    [302, '', { denied: false, message: /: it returned 302$/ }],
    [401, 'log in', { denied: true }],
    [403, ' <!doctype html>', { denied: true }],
    [405, 'no', { denied: false }],
  ]
  for (const [status, text, expected] of cases) {
    const error = toResponseError(status, text, 'a:8500', 'service:read')
    t.match(error, expected, `${status} ${text}`)
    t.match(error.message, /^the server at a:8500 is not Consul: it returned /)
  }
})

t.test('truncates the error message from Consul to one line', async (t) => {
  const { message } = toResponseError(500, `a\r\n\u001b[31m${'x'.repeat(1000)}`, 'a:8500', '')
  t.match(message, /^Consul at a:8500 returned 500: a \[31mx+$/)
  t.ok(message.length < 250)
})

t.test('does not recognize other errors', async (t) => {
  t.ok(isConsulError(createConsulError('x')))
  for (const other of [new Error('x'), undefined, { denied: true, notFound: true }])
    t.notOk(isConsulError(other))
})
