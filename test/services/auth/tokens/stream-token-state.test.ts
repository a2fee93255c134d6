import t from 'tap'
import type { StoreWrite } from '../../../../domain/store/store.ts'
import { revokeSession } from '../../../../services/auth/tokens/revocation-store.ts'
import { streamTokenState } from '../../../../services/auth/tokens/stream-token-state.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'
import { nextMessageOf } from '../../../fixtures/platform-auth.ts'

t.test('streams keys and revocations in pages', async (t) => {
  const { store, clock, keys, revoked } = await openAuthParts(t)
  const writes: StoreWrite[] = []
  for (let i = 0; i < 1500; i++) writes.push(revokeSession(`t${i}`, clock.ms))
  await store.commit(writes)
  await waitUntil(() => revoked.list().length === 1500)
  const stop = new AbortController()
  const options = { keys, revoked, signal: stop.signal, isVisible: () => true }
  const updates = streamTokenState(options)[Symbol.asyncIterator]()
  const first = await nextMessageOf(updates)
  t.same([first.keys.length, first.revoked.length], [1, 1000])
  t.equal((await nextMessageOf(updates)).revoked.length, 500)
  const next = updates.next()
  await store.commit([revokeSession('last', clock.ms)])
  t.match(await next, { value: { revoked: [{ id: 'last' }] } })
  const end = updates.next()
  stop.abort()
  t.match(await end, { done: true })
})

t.test('sends nothing for revocations that the filter excludes', async (t) => {
  const { store, clock, keys, revoked } = await openAuthParts(t)
  const stop = new AbortController()
  const options = { keys, revoked, signal: stop.signal, isVisible: () => false }
  const updates = streamTokenState(options)[Symbol.asyncIterator]()
  t.same((await nextMessageOf(updates)).revoked, [])
  const next = updates.next()
  await store.commit([revokeSession('one', clock.ms)])
  await waitUntil(() => revoked.list().length === 1)
  await keys.rotate(false, 'auth')
  t.match(await next, { value: { keys: { length: 2 }, revoked: [] } })
  stop.abort()
})
