import t from 'tap'
import { toAccount } from '../../../plugins/oidc/to-account.ts'

const CLAIMS = {
  issuer: 'https://id.test',
  ...{ idClaim: 'sub', nameClaim: 'name', scopesClaim: 'scope', scopes: {}, namespace: 'mx' },
}

t.test('takes scopes from the claim, except scopes of the platform', async (t) => {
  const rows: [unknown, string[]][] = [
    ['orders read orders', ['orders', 'read']],
    [
      ['orders', 'read'],
      ['orders', 'read'],
    ],
    ['admin orders service', ['orders']],
    [['admin', '*', '+', '', 1, null], []],
    [undefined, []],
    [{ orders: true }, []],
  ]
  for (const [scope, scopes] of rows)
    t.same(toAccount({ sub: 'a', scope }, CLAIMS)?.scopes, scopes, JSON.stringify(scope))
})

t.test('maps claim values to scopes, including admin, and drops others', async (t) => {
  const claims = { ...CLAIMS, scopes: { 'mx-admins': 'admin', staff: 'staff' } }
  const scope = ['mx-admins', 'staff', 'admin', 'toString', '__proto__']
  t.same(toAccount({ sub: 'a', scope }, claims)?.scopes, ['admin', 'staff'])
})

t.test('reads nested claims and claims with dots in their names', async (t) => {
  const claims = { ...CLAIMS, idClaim: 'email', scopesClaim: 'realm_access.roles' }
  const payload = { email: 'a@b.test', realm_access: { roles: ['staff'] } }
  t.match(toAccount(payload, claims), {
    id: 'https://id.test#a@b.test',
    name: 'a@b.test',
    scopes: ['staff'],
  })
  const name = 'https://app.test/roles'
  const named = { ...CLAIMS, scopesClaim: name }
  t.same(toAccount({ sub: 'a', [name]: ['staff'] }, named)?.scopes, ['staff'])
  t.same(toAccount({ sub: 'a' }, { ...CLAIMS, scopesClaim: 'constructor.name' })?.scopes, [])
})

t.test('returns no account without an id', async (t) => {
  for (const sub of [undefined, '', 1, {}, 'x'.repeat(257)])
    t.equal(toAccount({ sub } as never, CLAIMS), undefined)
})
