import t from 'tap'
import type { Session } from '../../../../core/contracts/auth.ts'
import {
  nextSecond,
  revokeAccount,
  revokeSession,
  revokeToken,
} from '../../../../services/auth/tokens/revocation-store.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'

const SESSION: Session = {
  account: {
    ...{ id: 'jane', name: 'jane', type: 'user', issuer: 'mx', scopes: [], metadata: {} },
  },
  ...{ id: 's1.t1', issuedMs: 1_800_000_000_000, endsMs: 1_800_003_600_000 },
}

t.test('applies revocations on all servers of a store until they expire', async (t) => {
  const one = await openAuthParts(t)
  const { store, clock } = one
  await store.commit([revokeSession('s1', clock.ms)])
  const two = await openAuthParts(t, { store, clock })
  t.ok(two.revoked.isRevoked(SESSION), 'including a server that starts later')
  await waitUntil(() => one.revoked.isRevoked(SESSION))
  await store.commit([revokeAccount('mx', 'john', nextSecond(clock.ms), clock.ms)])
  await waitUntil(() => one.revoked.list().length === 2)
  t.match(one.revoked.list()[1], { account: 'john', before: 1_800_000_001_000 })
  clock.ms += 3_660_000
  t.same(one.revoked.list(), [])
  await waitUntil(async () => {
    const { records } = await store.list({ database: 'mx', table: 'auth' }, { prefix: 'revoked/' })
    return records.length === 0
  })
})

t.test('stores the revocation of a token until no clock accepts the token', async (t) => {
  const { store, clock, revoked } = await openAuthParts(t)
  await store.commit([revokeToken('s1.t1', SESSION.endsMs)])
  await waitUntil(() => revoked.isRevoked(SESSION))
  clock.ms = SESSION.endsMs + 29_999
  t.equal(revoked.list().length, 1)
  clock.ms += 1
  t.same(revoked.list(), [])
})

t.test('reports each revocation once to listeners', async (t) => {
  const { store, clock, revoked } = await openAuthParts(t)
  const events: unknown[] = []
  const stop = revoked.onRevoked((revocations) => void events.push(...revocations))
  await store.commit([revokeSession('a', clock.ms)])
  await store.commit([revokeSession('a', clock.ms)])
  await store.commit([revokeSession('b', clock.ms)])
  await waitUntil(() => events.length === 2)
  t.match(events, [{ id: 'a' }, { id: 'b' }])
  stop()
  await store.commit([revokeSession('c', clock.ms)])
  await waitUntil(() => revoked.list().length === 3)
  t.equal(events.length, 2)
})

t.test('considers tokens of the same second issued before the revocation', (t) => {
  t.equal(nextSecond(1_000), 2_000)
  t.equal(nextSecond(1_999), 2_000)
  t.end()
})
