import t from 'tap'
import { CallError, CONNECTION_ID, readCallError } from '../../../web/rpc/call-error.ts'

const response = (service: string, id: string, code: number, metadata = ''): CallError =>
  readCallError(JSON.stringify({ id, code, detail: 'no', metadata }), service)

t.test(
  'isExpiry is true for 401 from the connection or the authorizer, but not from other services',
  async (t) => {
    const invalidToken = 'www-authenticate: Bearer error="invalid_token"\r\n'
    const other = 'www-authenticate: Bearer realm="shop", error="invalid_token"\r\n'
    t.ok(new CallError(CONNECTION_ID, 401, '').isExpiry)
    t.ok(
      response('greeter', 'greeter', 401, invalidToken).isExpiry,
      'from the authorizer of the service',
    )
    t.notOk(response('greeter', 'greeter', 401).isExpiry, 'denied by the rules')
    t.notOk(response('greeter', 'shop', 401, invalidToken).isExpiry, 'from another service')
    t.notOk(
      response('greeter', 'greeter', 401, other).isExpiry,
      'a custom challenge of the service',
    )
    t.notOk(response('greeter', CONNECTION_ID, 401).isExpiry)
    t.notOk(response(CONNECTION_ID, CONNECTION_ID, 401).isExpiry, 'a service may have this name')
  },
)

t.test('isLoss is true only for errors created by the page', async (t) => {
  t.ok(new CallError(CONNECTION_ID, 503, '').isLoss)
  t.notOk(response('greeter', CONNECTION_ID, 503).isLoss)
  t.notOk(response(CONNECTION_ID, CONNECTION_ID, 503).isLoss)
})

t.test(
  'isPassing is true for 401 and 503 from the connection, and for 502 and 503 from a service',
  async (t) => {
    for (const code of [401, 503]) t.ok(new CallError(CONNECTION_ID, code, '').isPassing)
    for (const code of [502, 503]) t.ok(response('store', 'store', code).isPassing)
    for (const code of [400, 401, 403, 404, 408, 500, 504])
      t.notOk(response('store', 'store', code).isPassing, `${code}`)
  },
)
