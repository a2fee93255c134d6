import t from 'tap'
import { CallError, CONNECTION_ID, readCallError } from '../../../web/rpc/call-error.ts'

const answer = (service: string, id: string, code: number, metadata = ''): CallError =>
  readCallError(JSON.stringify({ id, code, detail: 'no', metadata }), service)

t.test('a login has ended where the connection or the gate says so, and no other', async (t) => {
  const notTaken = 'www-authenticate: Bearer error="invalid_token"\r\n'
  const other = 'www-authenticate: Bearer realm="shop", error="invalid_token"\r\n'
  t.ok(new CallError(CONNECTION_ID, 401, '').isExpiry)
  t.ok(answer('greeter', 'greeter', 401, notTaken).isExpiry, 'the gate, of the service')
  t.notOk(answer('greeter', 'greeter', 401).isExpiry, 'the rules')
  t.notOk(answer('greeter', 'shop', 401, notTaken).isExpiry, 'what another service said')
  t.notOk(answer('greeter', 'greeter', 401, other).isExpiry, 'a challenge of its own')
  t.notOk(answer('greeter', CONNECTION_ID, 401).isExpiry)
  t.notOk(answer(CONNECTION_ID, CONNECTION_ID, 401).isExpiry, 'a service may be called so')
})

t.test('the connection is lost where the page says so, not a service', async (t) => {
  t.ok(new CallError(CONNECTION_ID, 503, '').isLoss)
  t.notOk(answer('greeter', CONNECTION_ID, 503).isLoss)
  t.notOk(answer(CONNECTION_ID, CONNECTION_ID, 503).isLoss)
})

t.test(
  'trouble passes with the connection, the login, and a service that comes again',
  async (t) => {
    for (const code of [401, 503]) t.ok(new CallError(CONNECTION_ID, code, '').isPassing)
    for (const code of [502, 503]) t.ok(answer('store', 'store', code).isPassing)
    for (const code of [400, 401, 403, 404, 408, 500, 504])
      t.notOk(answer('store', 'store', code).isPassing, `${code}`)
  },
)
