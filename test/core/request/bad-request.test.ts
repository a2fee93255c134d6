import t from 'tap'
import { badRequest, quote } from '../../../core/request/bad-request.ts'

t.test('badRequest returns status 400, and its cause is not sent to the client', async (t) => {
  const cause = new URIError('malformed')
  const error = badRequest('greeter', 'limit must be an integer', cause)
  t.same(error.toBody(), {
    Id: 'greeter',
    Code: 400,
    Detail: 'limit must be an integer',
    Status: 'Bad Request',
  })
  t.equal(error.cause, cause)
})

t.test('quote escapes text of clients and cuts it to 64 characters', async (t) => {
  t.equal(quote('a"b'), '"a\\"b"')
  t.equal(quote('a\r\n\0'), '"a\\r\\n\\u0000"')
  t.equal(quote('x'.repeat(64)), `"${'x'.repeat(64)}"`)
  t.equal(quote('x'.repeat(65)), `"${'x'.repeat(64)}…"`)
})
