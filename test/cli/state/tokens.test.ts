import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readCredentials, writeCredentials } from '../../../cli/state/tokens.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const home = makeTempFolder(t, 'home')
process.env['HOME'] = home
const FILE = join(home, '.mx', 'tokens')

const OWNER = { address: '127.0.0.1:8081', namespace: 'mx', account: 'admin' }
const CREDENTIALS = { accessToken: 'a.b.c', refreshToken: 'r', expiry: 1_700_000_000 }

t.test('credentials with and without TLS are separate', async (t) => {
  const secure = { ...OWNER, address: 'mxs://127.0.0.1:8081' }
  await writeCredentials(secure, CREDENTIALS)
  t.match(readFileSync(FILE, 'utf8'), /^mxs:\/\/127\.0\.0\.1:8081\/mx\/admin:\S+\n$/)
  t.same(readCredentials(secure), CREDENTIALS)
  t.equal(readCredentials(OWNER), undefined)
  await writeCredentials(secure, undefined)
})

t.test('credentials are stored on one line per proxy, namespace and account', async (t) => {
  const others = [
    { ...OWNER, address: '127.0.0.1:9081' },
    { ...OWNER, namespace: 'acme' },
    { ...OWNER, account: 'ann:/ \n' },
  ]
  await writeCredentials(OWNER, CREDENTIALS)
  for (const [i, owner] of others.entries())
    await writeCredentials(owner, { ...CREDENTIALS, refreshToken: `r${i}` })
  t.equal(readFileSync(FILE, 'utf8').split('\n').length, 5)
  const [first] = readFileSync(FILE, 'utf8').split('\n')
  const [, value = ''] = /^mx:\/\/127\.0\.0\.1:8081\/mx\/admin:(\S+)$/.exec(first!) ?? []
  t.same(JSON.parse(Buffer.from(value, 'base64').toString()), {
    access_token: 'a.b.c',
    refresh_token: 'r',
    expiry: 1_700_000_000,
  })
  t.same(readCredentials(OWNER), CREDENTIALS)
  for (const [i, owner] of others.entries())
    t.same(readCredentials(owner), { ...CREDENTIALS, refreshToken: `r${i}` })
  await writeCredentials(OWNER, undefined)
  t.equal(readCredentials(OWNER), undefined)
  t.same(readCredentials(others[0]!)?.refreshToken, 'r0')
})

t.test('invalid lines are ignored, and removed by the next change', async (t) => {
  writeFileSync(FILE, 'nonsense\nmx://127.0.0.1:8081/mx/admin:bm90IGpzb24=\n')
  t.equal(readCredentials(OWNER), undefined)
  await writeCredentials(OWNER, CREDENTIALS)
  t.same(readCredentials(OWNER), CREDENTIALS)
  t.equal(readFileSync(FILE, 'utf8').split('\n').length, 2)
})
