import t, { type Test } from 'tap'
import type { Account, Rule } from '../../../core/contracts/auth.ts'
import { createSource } from '../../../services/auth/local-source.ts'
import { revokeAccount } from '../../../services/auth/tokens/revocation-store.ts'
import { openAuthParts } from '../../fixtures/auth-parts.ts'

const ID = 'auth.Rules.Create'
const LOGIN: Rule = {
  id: 'login',
  scope: '',
  access: 'GRANTED',
  resource: { type: 'service', name: 'auth', endpoint: '*' },
  priority: 0,
}

async function open(t: Test) {
  const parts = await openAuthParts(t)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  return { ...parts, source: createSource(parts), stop }
}

async function next<T>(updates: AsyncIterator<T>): Promise<T> {
  const { done, value } = await updates.next()
  if (done === true) throw new Error('the stream has ended')
  return value
}

t.test('streams all rules of a namespace, immediately and after each change', async (t) => {
  const { source, rules, stop } = await open(t)
  const updates = source.watchRules('mx', stop.signal)[Symbol.asyncIterator]()
  const ids = async () => (await next(updates)).map(({ id }) => id)
  t.same(await ids(), ['default'])
  await rules.create('acme', LOGIN, {}, ID)
  await rules.create('mxa', LOGIN, {}, ID)
  await rules.create('mx', LOGIN, {}, ID)
  t.same(await ids(), ['default', 'login'])
  await rules.delete('mx', 'default', {}, ID)
  t.same(await ids(), ['login'])
  const end = updates.next()
  stop.abort()
  t.same(await end, { done: true, value: undefined })
})

t.test('streams namespaces with rules, immediately and when namespaces are added', async (t) => {
  const { source, rules, stop } = await open(t)
  await rules.create('acme', LOGIN, {}, ID)
  const updates = source.watchNamespaces(stop.signal)[Symbol.asyncIterator]()
  t.same(await next(updates), new Set(['acme']))
  await rules.create('mx', LOGIN, {}, ID)
  await rules.create('acme', { ...LOGIN, id: 'another' }, {}, ID)
  t.same(await next(updates), new Set(['acme', 'mx']))
  const more = next(updates)
  await rules.create('mx', { ...LOGIN, id: 'another' }, {}, ID)
  await rules.create('shop', LOGIN, {}, ID)
  t.same(await more, new Set(['acme', 'mx', 'shop']))
})

t.test('coalesces rule changes for a slow watcher', async (t) => {
  const { source, rules, stop } = await open(t)
  const updates = source.watchRules('mx', stop.signal)[Symbol.asyncIterator]()
  await next(updates)
  for (const id of ['a', 'b', 'c']) await rules.create('mx', { ...LOGIN, id }, {}, ID)
  t.equal((await next(updates)).length, 4)
})

t.test('ends a watch with an error if rules cannot be read', async (t) => {
  const { source, store, stop } = await open(t)
  await store.close()
  const updates = source.watchRules('mx', stop.signal)[Symbol.asyncIterator]()
  await t.rejects(updates.next(), { code: 503 })
})

t.test('streams keys and revocations, immediately and after each change', async (t) => {
  const { source, keys, store, clock, stop } = await open(t)
  const updates = source.watchTokens(stop.signal)[Symbol.asyncIterator]()
  const first = await next(updates)
  t.same([...first.keys.keys()], [keys.current().id])
  const rotated = await keys.rotate(false, ID)
  t.same([...(await next(updates)).keys.keys()].sort(), [keys.current().id, rotated].sort())
  await store.commit([revokeAccount('mx', 'jane', clock.ms + 1, clock.ms)])
  const { isRevoked } = await next(updates)
  const defaults = { scopes: [], metadata: {}, issuer: 'mx' }
  const account: Account = { id: 'jane', name: 'jane', type: 'user', ...defaults }
  const session = { account, id: 'x', issuedMs: clock.ms, endsMs: clock.ms + 1000 }
  t.equal(isRevoked(session), true)
  t.equal(isRevoked({ ...session, issuedMs: clock.ms + 1 }), false)
  t.equal(isRevoked({ ...session, account: { ...account, issuer: 'acme' } }), false)
})

t.test('streams nothing to a watcher that unsubscribes before the start', async (t) => {
  const { source } = await open(t)
  const updates = source.watchRules('mx', AbortSignal.abort())[Symbol.asyncIterator]()
  t.same(await updates.next(), { done: true, value: undefined })
})
