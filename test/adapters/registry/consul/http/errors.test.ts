import t from 'tap'
import {
  createConsulError,
  isConsulError,
  toAnswerError,
} from '../../../../../adapters/registry/consul/http/errors.ts'

t.test('an answer of Consul becomes an error that says what to do', async (t) => {
  const cases: [number, string, object][] = [
    [403, 'ACL not found', { denied: true, message: /does not know the token/ }],
    [403, '', { denied: true, message: /the token needs service:read/ }],
    [500, 'rpc error: Permission denied', { denied: true, gone: false }],
    [429, 'too many', { denied: false, message: /http_max_conns_per_client/ }],
    [
      404,
      'Unknown check ID "x"',
      { gone: true, message: /^Consul at a:8500 answers 404: Unknown/ },
    ],
    [500, 'CheckID "x" does not have associated TTL', { gone: true }],
    [
      400,
      'Invalid tag',
      { gone: false, denied: true, message: 'Consul at a:8500 answers 400: Invalid tag' },
    ],
    [500, 'No cluster leader', { gone: false, denied: false }],
    [502, '<html>', { denied: false, message: 'Consul at a:8500 answers 502: <html>' }],
  ]
  for (const [status, text, wanted] of cases)
    t.match(toAnswerError(status, text, 'a:8500', 'service:read'), wanted, `${status} ${text}`)
})

t.test(
  'an answer that Consul does not give is told as that, with where it came from',
  async (t) => {
    const cases: [number, string, object][] = [
      [404, '<html>', { gone: true, message: /: it answers 404: <html>$/ }],
      [404, '404 page not found', { gone: true, denied: false }],
      [302, '', { denied: false, message: /: it answers 302$/ }],
      [401, 'log in', { denied: true }],
      [403, ' <!doctype html>', { denied: true }],
      [405, 'no', { denied: false }],
    ]
    for (const [status, text, wanted] of cases) {
      const error = toAnswerError(status, text, 'a:8500', 'service:read')
      t.match(error, wanted, `${status} ${text}`)
      t.match(error.message, /^what answers at a:8500 is no Consul: it answers /)
    }
  },
)

t.test('what Consul says is cut and kept on one line', async (t) => {
  const { message } = toAnswerError(500, `a\r\n\u001b[31m${'x'.repeat(1000)}`, 'a:8500', '')
  t.match(message, /^Consul at a:8500 answers 500: a \[31mx+$/)
  t.ok(message.length < 250)
})

t.test('other errors are none of these', async (t) => {
  t.ok(isConsulError(createConsulError('x')))
  for (const other of [new Error('x'), undefined, { denied: true, gone: true }])
    t.notOk(isConsulError(other))
})
