import t from 'tap'
import { formatError, GatewayError } from '../../core/errors.ts'

t.test('an error body has the members Id, Code, Detail and Status', async (t) => {
  const error = new GatewayError('go.mx.api.greeter', 503, 'no node')
  t.strictSame(error.toBody(), {
    Id: 'go.mx.api.greeter',
    Code: 503,
    Detail: 'no node',
    Status: 'Service Unavailable',
  })
  t.strictSame(formatError(error, '*/*'), {
    type: 'application/json',
    body: JSON.stringify(error.toBody()),
  })
  t.equal(new GatewayError('a', 599, 'odd').toBody().Status, '')
})

t.test(
  'clients that prefer application/problem+json receive problem details (RFC 9457)',
  async (t) => {
    const { type, body } = formatError(
      new GatewayError('a', 404, 'gone'),
      'text/html, application/problem+json',
    )
    t.equal(type, 'application/problem+json')
    t.strictSame(JSON.parse(body), {
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: 'gone',
      instance: 'a',
    })
  },
)

t.test('a GatewayError has no stack trace, other errors keep theirs', async (t) => {
  const error = new GatewayError('a', 400, 'b')
  t.notMatch(error.stack, /\n\s+at /)
  t.match(new Error('after').stack, /\n\s+at /)
})

t.test('other thrown values become a 500 error without details', async (t) => {
  for (const thrown of [new Error('secret'), 'secret', undefined, null, 42, { code: 418 }]) {
    const error = GatewayError.from(thrown, 'service')
    t.strictSame(error.toBody(), {
      Id: 'service',
      Code: 500,
      Detail: 'internal error',
      Status: 'Internal Server Error',
    })
    t.equal(error.cause, thrown)
  }
  t.equal(GatewayError.from(new Error('x')).id, 'go.mx.api')
  const custom = new GatewayError('a', 400, 'b', { headers: ['x', 'y'], cause: 'log only' })
  t.equal(GatewayError.from(custom), custom)
  t.notMatch(formatError(custom, '').body, /log only/)
})
