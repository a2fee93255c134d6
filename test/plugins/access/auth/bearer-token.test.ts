import t from 'tap'
import { createApiKey } from '../../../../core/auth/token/api-key.ts'
import type { Exchange } from '../../../../core/exchange.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { moveApiKey, readToken } from '../../../../plugins/access/auth/bearer-token.ts'

const read = (...fields: readonly string[]) =>
  readToken({ headers: new HeaderList(fields), host: 'app.test' } as Exchange)

t.test('reads the token from Authorization: Bearer only', async (t) => {
  t.equal(read(), undefined)
  t.equal(read('authorization', 'bearer a.b.c'), 'a.b.c')
  t.equal(read('authorization', 'Basic YTpi'), undefined)
  t.equal(read('cookie', 'mx-token=a', 'sec-fetch-site', 'same-origin'), undefined)
  t.equal(read('authorization', 'Bearer b', 'cookie', 'mx-token=a'), 'b')
})

t.test('rejects several Authorization headers with 400', async (t) => {
  t.throws(() => read('authorization', 'Bearer a', 'authorization', 'Bearer a'), { code: 400 })
})

const KEY = createApiKey('00112233445566ff')

t.test('reads an API key from X-Api-Key, after Authorization: Bearer', async (t) => {
  t.equal(read('x-api-key', KEY), KEY)
  t.equal(read('authorization', `Bearer ${KEY}`), KEY)
  t.equal(read('authorization', 'Bearer b', 'x-api-key', KEY), 'b')
  t.equal(read('authorization', 'Basic YTpi', 'x-api-key', KEY), KEY)
  t.equal(read('x-api-key', 'a key of the backend'), undefined)
  t.equal(read('x-api-key', 'one', 'x-api-key', 'two'), undefined, 'intended for the backend')
  t.throws(() => read('x-api-key', KEY, 'x-api-key', KEY), { code: 400 })
})

t.test('moves an API key to Authorization, unless the header has another scheme', async (t) => {
  const move = (...fields: readonly string[]) => {
    const headers = new HeaderList(fields)
    moveApiKey({ headers } as Exchange)
    return headers.flat
  }
  t.same(move('x-api-key', KEY), ['authorization', `Bearer ${KEY}`])
  t.same(move('authorization', 'Basic YTpi', 'x-api-key', KEY), ['authorization', 'Basic YTpi'])
  t.same(move('x-api-key', 'other'), ['x-api-key', 'other'])
  t.same(move(), [])
})
