import t from 'tap'
import { type Revocation, Revocations } from '../../../../core/auth/token/revocations.ts'
import type { Session } from '../../../../core/contracts/auth.ts'

const TOKEN: Revocation = { id: 's1.t1', namespace: '', account: '', before: 0, ends: 100_000 }
const SESSION: Session = {
  account: {
    ...{ id: 'jane', name: 'jane', type: 'user', issuer: 'mx', scopes: [], metadata: {} },
  },
  ...{ id: 's1.t1', issuedMs: 5_000, endsMs: 90_000 },
}

function open(...all: Revocation[]) {
  const clock = { ms: 10_000 }
  const revocations = new Revocations(() => clock.ms)
  for (const byToken of all) revocations.add(byToken)
  return {
    clock,
    revocations,
    isRevoked: (part = {}) => revocations.isRevoked({ ...SESSION, ...part }),
  }
}

t.test('a token is revoked by its id or by its session', (t) => {
  const byToken = open(TOKEN)
  t.ok(byToken.isRevoked())
  t.notOk(byToken.isRevoked({ id: 's1.t2' }))
  const all = open({ ...TOKEN, id: 's1' })
  t.ok(all.isRevoked())
  t.ok(all.isRevoked({ id: 's1.t2' }))
  t.notOk(all.isRevoked({ id: 's11.t1' }))
  t.notOk(all.isRevoked({ id: '.s1' }))
  t.notOk(open().isRevoked())
  t.end()
})

t.test('tokens of an account issued before a time are revoked', (t) => {
  const { isRevoked, revocations } = open({
    ...{ ...TOKEN, id: '', namespace: 'mx', account: 'jane', before: 6_000 },
  })
  t.ok(isRevoked())
  t.notOk(isRevoked({ issuedMs: 6_000 }))
  t.notOk(isRevoked({ account: { ...SESSION.account, issuer: 'acme' } }))
  t.notOk(isRevoked({ account: { ...SESSION.account, id: 'john' } }))
  const repeated = { ...TOKEN, id: '', namespace: 'mx', account: 'jane', before: 5_500 }
  t.equal(revocations.add(repeated), false, 'an earlier time has no effect')
  t.ok(isRevoked({ issuedMs: 5_900 }))
  t.equal(revocations.add({ ...repeated, before: 7_000 }), true)
  t.ok(isRevoked({ issuedMs: 6_500 }))
  t.end()
})

t.test('an existing revocation is not added again, and an expired one is removed', (t) => {
  const { revocations, clock } = open(TOKEN)
  t.equal(revocations.add(TOKEN), false)
  t.same(revocations.list(), [TOKEN])
  clock.ms = 100_000
  t.same(revocations.list(), [])
  t.equal(revocations.add({ ...TOKEN, ends: 200_000 }), true)
  t.end()
})
