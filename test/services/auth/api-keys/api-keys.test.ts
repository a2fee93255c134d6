import t, { type Test } from 'tap'
import { parseApiKey } from '../../../../core/auth/token/api-key.ts'
import { API_KEYS_MAX } from '../../../../services/auth/api-keys/api-keys.ts'
import { AUTH_TABLE } from '../../../../services/auth/records.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'

const ID = 'auth.ApiKeys.Create'
const HOUR_MS = 3600_000
const DAY_MS = 24 * HOUR_MS
const INPUT = { name: 'ci', scopes: ['deploy'], lifeMs: 0, limits: {} }

async function open(t: Test) {
  const parts = await openAuthParts(t)
  const { accounts, apiKeys } = parts
  const input = { id: 'jane', scopes: ['deploy', 'read'], metadata: { team: 'a' } }
  const { account: jane } = await accounts.create('mx', { ...input, secret: 'a long secret' }, ID)
  const verify = (key: string) => apiKeys.verify(parseApiKey(key)!)
  return { ...parts, jane, verify }
}

t.test('a key authenticates as its owner with its own scopes', async (t) => {
  const { apiKeys, jane, clock, verify } = await open(t)
  const limits = { day: 10 }
  const { record, key } = await apiKeys.create(jane, { ...INPUT, limits }, ID)
  t.match(key, new RegExp(`^mxk_${record.id}_`))
  t.strictSame(await verify(key), {
    account: {
      ...{ id: 'jane', name: 'jane', type: 'user', issuer: 'mx', scopes: ['deploy'] },
      ...{ metadata: { team: 'a' }, apiKey: record.id },
    },
    ...{ id: `${record.id}.1`, issuedMs: clock.ms, endsMs: Number.POSITIVE_INFINITY, limits },
  })
})

t.test('the store contains the hash of a key but not the key', async (t) => {
  const { apiKeys, jane, store } = await open(t)
  const { key } = await apiKeys.create(jane, INPUT, ID)
  const { records } = await store.list(AUTH_TABLE, { prefix: 'apiKey' })
  t.equal(records.length, 2)
  for (const { value } of records) t.notMatch(Buffer.from(value).toString(), key.split('_').at(-1)!)
})

t.test('rejects a wrong secret, an unknown id and a malformed key', async (t) => {
  const { apiKeys, jane, verify } = await open(t)
  const { key, record } = await apiKeys.create(jane, INPUT, ID)
  const end = key.at(-1) === 'A' ? 'B' : 'A'
  t.equal(await verify(`${key.slice(0, -1)}${end}`), undefined)
  t.equal(await verify(key.replace(record.id, '0'.repeat(16))), undefined)
  t.equal(await apiKeys.verify({ id: '../x', hash: '' }), undefined)
  t.equal(await apiKeys.verify({ id: record.id, hash: '' }), undefined)
})

t.test('a key expires, is listed for another 30 days, then disappears', async (t) => {
  const { apiKeys, jane, clock, verify } = await open(t)
  const { key } = await apiKeys.create(jane, { ...INPUT, lifeMs: DAY_MS }, ID)
  t.match(await verify(key), { endsMs: clock.ms + DAY_MS })
  clock.ms += DAY_MS
  t.equal(await verify(key), undefined)
  const list = async () => (await apiKeys.list('mx', { limit: 10 })).keys.length
  t.equal(await list(), 1)
  clock.ms += 30 * DAY_MS
  t.equal(await list(), 0)
})

t.test('a key never has a scope that its owner lacks', async (t) => {
  const { apiKeys, accounts, jane, verify, revoked } = await open(t)
  await t.rejects(apiKeys.create(jane, { ...INPUT, scopes: ['deploy', 'admin'] }, ID), {
    ...{ id: ID, code: 400 },
    message: 'request.scopes[1] must be a scope of the account jane, got "admin"',
  })
  const { key } = await apiKeys.create(jane, { ...INPUT, scopes: ['deploy', 'read'] }, ID)
  const before = await verify(key)
  await accounts.setScopes('mx', 'jane', ['read', 'other'], ID)
  await t.resolves(
    waitFor(() => revoked.isRevoked(before!)),
    'the cached session is revoked',
  )
  const after = await verify(key)
  t.same(after?.account.scopes, ['read'])
  t.notOk(revoked.isRevoked(after!))
})

t.test('after a rotation, the previous secret is valid for the grace period', async (t) => {
  const { apiKeys, jane, clock, verify, revoked } = await open(t)
  const first = await apiKeys.create(jane, INPUT, ID)
  const session = await verify(first.key)
  const second = await apiKeys.rotate(first.record, HOUR_MS, ID)
  await waitFor(() => revoked.isRevoked(session!))
  const [previous, current] = [await verify(first.key), await verify(second!.key)]
  t.equal(second!.record.id, first.record.id)
  t.same([previous?.endsMs, current?.endsMs], [clock.ms + HOUR_MS, Number.POSITIVE_INFINITY])
  t.notOk(revoked.isRevoked(previous!) || revoked.isRevoked(current!))
  clock.ms += HOUR_MS
  t.equal(await verify(first.key), undefined)
  t.ok(await verify(second!.key))
})

t.test('a rotation without grace period and a second rotation end the old secret', async (t) => {
  const { apiKeys, jane, verify, revoked } = await open(t)
  const first = await apiKeys.create(jane, INPUT, ID)
  const second = await apiKeys.rotate(first.record, HOUR_MS, ID)
  const previous = await verify(first.key)
  const third = await apiKeys.rotate(second!.record, 0, ID)
  await waitFor(() => revoked.isRevoked(previous!))
  t.equal(await verify(first.key), undefined)
  t.equal(await verify(second!.key), undefined)
  t.ok(await verify(third!.key))
})

t.test('concurrent rotations leave one valid secret and one in its grace period', async (t) => {
  const { apiKeys, jane, verify } = await open(t)
  const { record, key } = await apiKeys.create(jane, INPUT, ID)
  const rotated = await Promise.all([
    apiKeys.rotate(record, HOUR_MS, ID),
    apiKeys.rotate(record, HOUR_MS, ID),
  ])
  t.equal(await verify(key), undefined)
  const sessions = await Promise.all(rotated.map((each) => verify(each!.key)))
  t.same(sessions.map((session) => session?.endsMs === Number.POSITIVE_INFINITY).sort(), [
    false,
    true,
  ])
})

t.test('a deleted key is unknown, and its sessions are revoked', async (t) => {
  const { apiKeys, jane, verify, revoked } = await open(t)
  const { record, key } = await apiKeys.create(jane, INPUT, ID)
  const session = await verify(key)
  t.equal(await apiKeys.delete(record), true)
  await waitFor(() => revoked.isRevoked(session!))
  t.equal(await verify(key), undefined)
  t.equal(await apiKeys.find('mx', record.id), undefined)
  t.equal(await apiKeys.delete(record), false)
  t.equal(await apiKeys.rotate(record, 0, ID), undefined)
})

t.test('keys are deleted with their account, and a new account does not get them', async (t) => {
  const { accounts, apiKeys, jane, verify, store, revoked } = await open(t)
  const { key } = await apiKeys.create(jane, INPUT, ID)
  const session = await verify(key)
  await accounts.delete('mx', 'jane', ID)
  await waitFor(() => revoked.isRevoked(session!))
  t.same((await store.list(AUTH_TABLE, { prefix: 'apiKey' })).records, [])
  await accounts.create('mx', { id: 'jane', scopes: ['deploy'] }, ID)
  t.equal(await verify(key), undefined)
})

t.test('a key remains valid when the secret of its owner changes', async (t) => {
  const { accounts, apiKeys, jane, verify } = await open(t)
  const { key } = await apiKeys.create(jane, INPUT, ID)
  await accounts.changeSecret('mx', 'jane', { old: undefined, new: 'another secret' }, ID)
  t.ok(await verify(key))
})

t.test('the last use is stored with a resolution of an hour', async (t) => {
  const { apiKeys, jane, clock, verify } = await open(t)
  const { record, key } = await apiKeys.create(jane, INPUT, ID)
  const used = async () => (await apiKeys.find('mx', record.id))?.usedMs
  t.equal(await used(), 0)
  const firstMs = clock.ms
  await verify(key)
  clock.ms += HOUR_MS - 1
  await verify(key)
  t.equal(await used(), firstMs)
  clock.ms += 1
  await verify(key)
  t.equal(await used(), clock.ms)
})

t.test('lists keys by account and id, paginated', async (t) => {
  const { accounts, apiKeys, jane } = await open(t)
  const { account: joe } = await accounts.create('mx', { id: 'joe' }, ID)
  const { account: eve } = await accounts.create('acme', { id: 'joe' }, ID)
  const input = { ...INPUT, scopes: [] }
  const owners = [joe, eve, jane, joe]
  for (const owner of owners) await apiKeys.create(owner, input, ID)
  const first = await apiKeys.list('mx', { limit: 2 })
  t.same(
    first.keys.map(({ account }) => account),
    ['jane', 'joe'],
  )
  const rest = await apiKeys.list('mx', { limit: 2, after: first.next! })
  t.same([rest.keys.length, rest.next], [1, undefined])
  const own = await apiKeys.list('mx', { account: 'joe', limit: 1 })
  const next = await apiKeys.list('mx', { account: 'joe', limit: 1, after: own.next! })
  t.same(
    [...own.keys, ...next.keys].map(({ id }) => id),
    [first.keys[1]!.id, rest.keys[0]!.id],
  )
})

t.test('limits the number of keys of an account', async (t) => {
  const { apiKeys, jane } = await open(t)
  for (let i = 0; i < API_KEYS_MAX; i++) await apiKeys.create(jane, INPUT, ID)
  await t.rejects(apiKeys.create(jane, INPUT, ID), { code: 429, message: /delete a key first/ })
})

/** Waits for revocations, which follow the store. */
async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
