import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import * as errors from '../../sdk/errors.ts'

const { parseServiceError, ServiceError } = errors

t.test('error constructors create typed errors with id, code, detail and status', async (t) => {
  const table: readonly [errors.ErrorConstructor, number, string][] = [
    [errors.badRequest, 400, 'Bad Request'],
    [errors.unauthorized, 401, 'Unauthorized'],
    [errors.forbidden, 403, 'Forbidden'],
    [errors.notFound, 404, 'Not Found'],
    [errors.methodNotAllowed, 405, 'Method Not Allowed'],
    [errors.timeout, 408, 'Request Timeout'],
    [errors.conflict, 409, 'Conflict'],
    [errors.preconditionFailed, 412, 'Precondition Failed'],
    [errors.tooManyRequests, 429, 'Too Many Requests'],
    [errors.internal, 500, 'Internal Server Error'],
    [errors.notImplemented, 501, 'Not Implemented'],
    [errors.badGateway, 502, 'Bad Gateway'],
    [errors.unavailable, 503, 'Service Unavailable'],
    [errors.gatewayTimeout, 504, 'Gateway Timeout'],
  ]
  for (const [create, code, status] of table) {
    const error = create('greeter', 'no such name')
    t.ok(error instanceof ServiceError, status)
    t.ok(error instanceof GatewayError, status)
    t.strictSame(error.toBody(), {
      Id: 'greeter',
      Code: code,
      Detail: 'no such name',
      Status: status,
    })
  }
  const cause = new Error('disk full')
  const error = errors.unavailable('greeter', 'try later', {
    cause,
    headers: ['retry-after', '3'],
  })
  t.equal(error.cause, cause)
  t.strictSame(error.headers, ['retry-after', '3'])
})

t.test('an error body is parsed with names in any letter case, as text or bytes', async (t) => {
  const upper = { Id: 'greeter', Code: 409, Detail: 'taken', Status: 'Conflict' }
  const lowerCase = { id: 'greeter', code: 409, detail: 'taken', status: 'Conflict' }
  const upperCase = { ID: 'greeter', CODE: 409, DETAIL: 'taken', STATUS: 'Conflict' }
  for (const fields of [upper, lowerCase, upperCase]) {
    const text = JSON.stringify(fields)
    for (const body of [text, Buffer.from(text)])
      t.strictSame(parseServiceError(body, 'other').toBody(), upper)
  }
})

t.test('a body that is not an error has the HTTP status as its code', async (t) => {
  const bodies = [
    '',
    'not json',
    '[]',
    'null',
    '12',
    '{}',
    '{"Code":"400"}',
    '{"Code":200,"Detail":""}',
    '{"Code":600}',
    '{"Code":400.5}',
    '{"__proto__":{"Code":418}}',
    `{"Code":400,"Detail":"${'x'.repeat(70_000)}"}`,
    Buffer.from([0xff, 0xfe]),
    Buffer.alloc(70_000, '{'),
  ]
  for (const body of bodies) {
    t.strictSame(parseServiceError(body, 'greeter', 503).toBody(), {
      Id: 'greeter',
      Code: 503,
      Detail: 'Service Unavailable',
      Status: 'Service Unavailable',
    })
  }
  t.equal(parseServiceError('', 'greeter', 200).code, 500)
  t.equal(parseServiceError('', 'greeter').code, 500)
  t.equal(parseServiceError('', 'greeter', 599).message, 'error')
})

t.test('a ServiceError with a code outside 400 to 599 is rejected', async (t) => {
  for (const code of [200, 302, 399, 600, 999, 404.5, Number.NaN, '404', undefined])
    t.throws(() => new ServiceError('a', code as number, 'x'), {
      name: 'TypeError',
      message: `the code of an error must be from 400 to 599, got ${code}`,
    })
  const error = new ServiceError('a', 418, 'teapot', { headers: ['x-a', '1'], cause: 5 })
  t.match(error, { id: 'a', code: 418, message: 'teapot', headers: ['x-a', '1'], cause: 5 })
  t.equal(error.name, 'ServiceError')
  t.equal(errors.notFound('a', 'b').name, 'ServiceError')
})

t.test(
  'GatewayError is a ServiceError, and subclasses are distinguished by instanceof',
  async (t) => {
    class Sold extends ServiceError {}
    const sold = new Sold('a', 409, 'sold')
    t.ok(sold instanceof Sold && sold instanceof ServiceError && sold instanceof GatewayError)
    t.ok(new GatewayError('a', 404, 'b') instanceof ServiceError)
    t.notOk(new GatewayError('a', 404, 'b') instanceof Sold)
    t.notOk(errors.notFound('a', 'b') instanceof Sold)
    t.notOk(new TypeError('a') instanceof ServiceError)
  },
)
