import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { readToken } from '../../../../plugins/access/auth/bearer-token.ts'

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
