import t from 'tap'
import { readBearer } from '../../../../core/auth/token/bearer.ts'

t.test('the token follows the Bearer scheme in any letter case', async (t) => {
  const rows: [string, string | undefined][] = [
    ['Bearer a.b.c', 'a.b.c'],
    ['bearer a.b.c', 'a.b.c'],
    ['BEARER   a.b.c', 'a.b.c'],
    ['Bearer  a.b.c', 'a.b.c'],
    ['Bearer\ta.b.c', 'a.b.c'],
    // A missing token and several tokens are returned, so that the caller rejects them.
    ['Bearer', ''],
    ['Bearer ', ''],
    ['Bearer a.b.c d', 'a.b.c d'],
    ['Bearer a.b.c, Bearer d', 'a.b.c, Bearer d'],
    ['Basic a.b.c', undefined],
    ['Bearers a.b.c', undefined],
    ['BearerToken', undefined],
    ['', undefined],
  ]
  for (const [field, token] of rows) t.equal(readBearer(field), token, field)
})
