import t from 'tap'
import { readBearer } from '../../../../core/auth/token/bearer.ts'

t.test('a token is what follows Bearer, in whatever case', async (t) => {
  const rows: [string, string | undefined][] = [
    ['Bearer a.b.c', 'a.b.c'],
    ['bearer a.b.c', 'a.b.c'],
    ['BEARER   a.b.c', 'a.b.c'],
    ['Bearer  a.b.c', 'a.b.c'],
    ['Bearer\ta.b.c', 'a.b.c'],
    // None, and several: they are refused, not overlooked.
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
