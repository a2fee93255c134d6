import t from 'tap'
import type { Exchange } from '../../../core/exchange.ts'
import { HeaderList } from '../../../core/headers.ts'
import { takeToken } from '../../../plugins/auth/shown-token.ts'

const take = (...fields: readonly string[]) => {
  const headers = new HeaderList(fields)
  const token = takeToken({ headers, host: 'app.test' } as Exchange)
  return { token, fields: headers.flat }
}

t.test('a token is shown by Bearer, else by the cookie, which is taken out', async (t) => {
  t.equal(take().token, undefined)
  t.equal(take('authorization', 'bearer a.b.c').token, 'a.b.c')
  t.equal(take('authorization', 'Basic YTpi', 'cookie', 'mx-token=a').token, undefined)
  t.strictSame(take('cookie', 'x=1; mx-token=a; y=2'), {
    token: 'a',
    fields: ['cookie', 'x=1; y=2', 'authorization', 'Bearer a'],
  })
  t.strictSame(take('authorization', 'Bearer b', 'cookie', 'mx-token=a'), {
    token: 'b',
    fields: ['authorization', 'Bearer b'],
  })
})

t.test('a cookie counts only for pages of the host itself', async (t) => {
  const cookie = ['cookie', 'mx-token=a']
  for (const [fields, token] of [
    [['origin', 'http://app.test'], 'a'],
    [['origin', 'http://other.test'], undefined],
    [['sec-fetch-site', 'same-origin'], 'a'],
    [['sec-fetch-site', 'same-site', 'origin', 'http://app.test'], undefined],
  ] as const)
    t.equal(take(...cookie, ...fields).token, token, fields.join())
})

t.test('several are 400', async (t) => {
  for (const fields of [
    ['authorization', 'Bearer a', 'authorization', 'Bearer a'],
    ['cookie', 'mx-token=a; mx-token=b'],
  ])
    t.throws(() => take(...fields), { code: 400 })
})
