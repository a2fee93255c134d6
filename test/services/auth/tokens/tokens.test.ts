import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { storeFull } from '../../../../domain/store/errors.ts'
import type { FamilyRecord } from '../../../../services/auth/records.ts'
import { createTokens, LIFE_S } from '../../../../services/auth/tokens/tokens.ts'
import { type AuthPartsOptions, openAuthParts } from '../../../fixtures/auth-parts.ts'

const ID = 'auth.Auth.Token'
const WRONG = { code: 400, id: ID, message: /^invalid or already used refresh token/ }
const DAY_MS = 24 * 3600 * 1000

async function open(t: Test, options: AuthPartsOptions = {}) {
  const parts = await openAuthParts(t, options)
  const tokens = createTokens(parts)
  const { account } = await parts.accounts.create('mx', { id: 'jane', scopes: ['reader'] }, ID)
  const reused: (FamilyRecord | undefined)[] = []
  const unknown: (FamilyRecord | undefined)[] = []
  const refresh = (token: string) =>
    tokens.refresh(
      token,
      { lifeS: LIFE_S, errorId: ID },
      (reason, family) => void (reason === 'reused' ? reused : unknown).push(family),
    )
  /** Account of a token, or the reason why it is rejected. */
  const inspectToken = (token: string) =>
    tokens.inspect(token).then(
      ({ account }) => account.id,
      (error: Error) => error.message,
    )
  const revoke = (token: string) => tokens.revoke(token, ID)
  return { ...parts, tokens, account, reused, unknown, refresh, inspectToken, revoke }
}

t.test(
  'issues an access token with the claims of the account and the requested lifetime',
  async (t) => {
    const { tokens, account, clock } = await open(t)
    const { accessToken, created, expiry } = await tokens.begin(account, 60)
    t.same([created, expiry], [1_800_000_000, 1_800_000_060])
    const session = await tokens.inspect(accessToken)
    t.same(session.account, {
      ...{ id: 'jane', name: 'jane', type: 'user', issuer: 'mx' },
      ...{ scopes: ['reader'], metadata: {} },
    })
    t.match(session.id, /^[\w-]{22}\.[\da-f-]{36}$/)
    clock.ms += 91_000
    await t.rejects(tokens.inspect(accessToken), { name: 'TokenError', message: /exp/ })
  },
)

t.test('exchanges each refresh token once for its successor', async (t) => {
  const { tokens, account, refresh, inspectToken } = await open(t)
  let { refreshToken } = await tokens.begin(account, 60)
  const usedTokens = new Set([refreshToken])
  for (let i = 0; i < 3; i++) {
    const pair = await refresh(refreshToken)
    t.equal(await inspectToken(pair.accessToken), 'jane')
    refreshToken = pair.refreshToken
    t.notOk(usedTokens.has(refreshToken))
    usedTokens.add(refreshToken)
  }
})

t.test('issues access tokens while the store is full', async (t) => {
  let isFull = false
  const memory = createMemoryStore()
  const { tokens, account, refresh, inspectToken, revoke, clock, reused } = await open(t, {
    adapter: {
      ...memory,
      commit(groups, nowMs) {
        if (isFull) throw storeFull(new Error('no room'))
        return memory.commit(groups, nowMs)
      },
    },
  })
  const { refreshToken } = await tokens.begin(account, 60)
  isFull = true
  const unstored = await tokens.begin(account, 60)
  t.equal(await inspectToken(unstored.accessToken), 'jane')
  await t.rejects(refresh(unstored.refreshToken), WRONG, 'the token could not be stored')
  clock.ms += 11_000
  for (let i = 0; i < 2; i++) {
    const pair = await refresh(refreshToken)
    t.equal(pair.refreshToken, refreshToken, 'the refresh token is not replaced')
    t.equal(await inspectToken(pair.accessToken), 'jane')
  }
  await t.rejects(revoke(refreshToken), { code: 507 }, 'a revocation that must be stored fails')
  isFull = false
  const next = await refresh(refreshToken)
  t.not(next.refreshToken, refreshToken)
  isFull = true
  t.equal(
    (await refresh(refreshToken)).refreshToken,
    next.refreshToken,
    'a client that lost the response',
  )
  clock.ms += 11_000
  await t.rejects(refresh(refreshToken), { code: 507 }, 'a used token has no successor')
  isFull = false
  await t.rejects(refresh(refreshToken), WRONG)
  t.equal(reused.length, 1)
  t.equal(await inspectToken(next.accessToken), 'revoked')
})

for (const [id, namespace, scopes] of [
  ['a program of mx', 'mx', ['workload:mx/shop']],
  ['an external service of mx', 'mx', ['service']],
  ['an account of mx without scopes', 'mx', []],
  ['a tenant', 'acme', ['admin']],
] as const)
  t.test(`logins and revocations of ${id} do not use the reserve of a full store`, async (t) => {
    const maxBytes = 100_000
    const adapter = createMemoryStore({ maxBytes })
    const { tokens, accounts, store, refresh, revoke, clock } = await open(t, { adapter })
    const { account } = await accounts.create(namespace, { id: 'guest', scopes }, ID)
    const { account: operator } = await accounts.create('mx', { id: 'ops', scopes: ['admin'] }, ID)
    const { refreshToken: first } = await tokens.begin(account, 60)
    const table = { database: 'acme', table: 'a' }
    const write = (key: string, bytes = 0) =>
      store.commit([{ table, key, value: Buffer.alloc(bytes) }])
    const fill = async (): Promise<void> => {
      for (let i = 0; ; i++) await write(String(i))
    }
    const fillRest = async (): Promise<void> => {
      for (let bytes = 1; ; bytes++) await write('0', bytes)
    }
    await t.rejects(fill(), { code: 507 })
    await t.rejects(fillRest(), { code: 507 })
    // More than the reserve of a sixteenth would have room for.
    for (let i = 0; i < maxBytes / 16 / 100; i++) await tokens.begin(account, 60)
    const { accessToken, refreshToken } = await tokens.begin(account, 60)
    await t.rejects(refresh(refreshToken), WRONG, 'the login is not stored')
    clock.ms += 11_000
    t.equal((await refresh(first)).refreshToken, first, 'the refresh token is not replaced')
    await t.rejects(revoke(accessToken), { code: 507 })

    const login = await tokens.begin(operator, 60)
    const next = await refresh(login.refreshToken)
    t.not(next.refreshToken, login.refreshToken, 'operators use the reserve')
    t.match(await revoke(next.accessToken), { account: 'ops' })
  })

t.test('stores only hashes of refresh tokens', async (t) => {
  const { tokens, account, store, refresh } = await open(t)
  const first = await tokens.begin(account, 60)
  const second = await refresh(first.refreshToken)
  const { records } = await store.list({ database: 'mx', table: 'auth' })
  const dump = records.map(({ key, value }) => `${key} ${Buffer.from(value)}`).join('\n')
  for (const { refreshToken } of [first, second]) t.notOk(dump.includes(refreshToken.slice(24)))
})

t.test('ends the login when a used refresh token is reused later', async (t) => {
  const { tokens, account, refresh, inspectToken, clock, reused } = await open(t)
  const stolenLogin = await tokens.begin(account, 60)
  const other = await tokens.begin(account, 60)
  const next = await refresh(stolenLogin.refreshToken)
  const last = await refresh(next.refreshToken)
  clock.ms += 11_000
  await t.rejects(refresh(next.refreshToken), WRONG)
  t.match(reused, [{ namespace: 'mx', account: 'jane' }])
  await t.rejects(refresh(last.refreshToken), WRONG)
  for (const { accessToken } of [stolenLogin, next, last])
    await t.resolveMatch(inspectToken(accessToken), 'revoked')
  t.equal(await inspectToken(other.accessToken), 'jane', 'another login stays valid')
  await refresh(other.refreshToken)
  t.equal(reused.length, 1)
})

t.test('returns the same successor for concurrent refreshes within 10 s', async (t) => {
  const { tokens, account, refresh, inspectToken, clock, reused } = await open(t)
  const { refreshToken } = await tokens.begin(account, 60)
  const concurrent = await Promise.all([refresh(refreshToken), refresh(refreshToken)])
  clock.ms += 9_000
  concurrent.push(await refresh(refreshToken))
  t.equal(new Set(concurrent.map((pair) => pair.refreshToken)).size, 1)
  for (const { accessToken } of concurrent) t.equal(await inspectToken(accessToken), 'jane')
  const [first, second] = await Promise.all(concurrent.map((pair) => refresh(pair.refreshToken)))
  t.equal(first!.refreshToken, second!.refreshToken, 'including concurrent uses of the successor')
  t.equal(await inspectToken(first!.accessToken), 'jane')
  t.equal(reused.length, 0)
  clock.ms += 11_000
  await t.rejects(refresh(concurrent[0]!.refreshToken), WRONG, 'a later use is reuse')
  t.equal(reused.length, 1)
})

t.test(
  'returns the valid token for a repetition within 10 s after its successor was used',
  async (t) => {
    const { tokens, account, refresh, inspectToken, clock, reused } = await open(t)
    const { refreshToken: first } = await tokens.begin(account, 60)
    const { refreshToken: second } = await refresh(first)
    clock.ms += 4_000
    const { refreshToken: third } = await refresh(second)
    clock.ms += 5_000
    const repeated = await refresh(first)
    t.equal(repeated.refreshToken, third, 'the same token as the other tab')
    t.equal(await inspectToken(repeated.accessToken), 'jane')
    clock.ms += 2_000
    t.equal((await refresh(second)).refreshToken, third, 'each token has its own 10 s')
    t.equal(reused.length, 0)
    await t.rejects(refresh(first), WRONG)
    t.equal(reused.length, 1)
    await t.rejects(refresh(third), WRONG)
  },
)

t.test('treats the first of more than 10 uses within 10 s as reuse', async (t) => {
  const { tokens, account, refresh, store } = await open(t)
  const used = [(await tokens.begin(account, 60)).refreshToken]
  for (let i = 0; i < 11; i++) used.push((await refresh(used.at(-1)!)).refreshToken)
  t.equal((await refresh(used[1]!)).refreshToken, used.at(-1))
  const { records } = await store.list({ database: 'mx', table: 'auth' })
  const families = records.filter(({ key }) => key.startsWith('refresh/'))
  t.match(
    families.map(({ value }) => value.length < 2000),
    [true],
    'the size of the record is limited',
  )
  await t.rejects(refresh(used[0]!), WRONG)
})

t.test('does not extend the grace period on repetition', async (t) => {
  const { tokens, account, refresh, clock } = await open(t)
  const { refreshToken } = await tokens.begin(account, 60)
  await refresh(refreshToken)
  clock.ms += 9_000
  await refresh(refreshToken)
  clock.ms += 2_000
  await t.rejects(refresh(refreshToken), WRONG)
})

t.test('expires a refresh token that is unused for 30 days', async (t) => {
  const { tokens, account, refresh, clock } = await open(t)
  const idle = await tokens.begin(account, 60)
  let { refreshToken } = await tokens.begin(account, 60)
  for (let i = 0; i < 4; i++) {
    clock.ms += 10 * DAY_MS
    ;({ refreshToken } = await refresh(refreshToken))
  }
  await t.rejects(refresh(idle.refreshToken), WRONG)
})

t.test('rejects malformed and unknown refresh tokens with the same error', async (t) => {
  const { refresh, unknown } = await open(t)
  for (const token of ['x', 'a'.repeat(68), `${'a'.repeat(67)}!`, 'a'.repeat(10_000)])
    await t.rejects(refresh(token), WRONG)
  t.same(
    unknown,
    [undefined, undefined, undefined, undefined],
    'each is reported without an account',
  )
})

t.test('revokes tokens issued before a change of the secret', async (t) => {
  const { tokens, accounts, refresh, inspectToken, unknown } = await open(t)
  const { account, secret } = await accounts.create('mx', { id: 'john' }, ID)
  const before = await tokens.begin(account, 60)
  await accounts.changeSecret('mx', 'john', { old: secret, new: 'another one' }, ID)
  // Runs within the same second.
  const after = await tokens.begin(await accounts.logIn('mx', 'john', 'another one', ID), 60)
  t.equal(await inspectToken(before.accessToken), 'revoked')
  await t.rejects(refresh(before.refreshToken), WRONG)
  t.match(unknown, [{ namespace: 'mx', account: 'john' }], 'reported with its account')
  t.equal(await inspectToken(after.accessToken), 'john')
  t.equal(await inspectToken((await refresh(after.refreshToken)).accessToken), 'john')
})

t.test(
  'rejects revoked tokens of a deleted account even for a new account with the same id',
  async (t) => {
    const { tokens, accounts, account, refresh, inspectToken } = await open(t)
    const before = await tokens.begin(account, 60)
    await accounts.delete('mx', 'jane', ID)
    t.equal(await inspectToken(before.accessToken), 'revoked')
    await t.rejects(refresh(before.refreshToken), WRONG)
    const { account: next } = await accounts.create('mx', { id: 'jane' }, ID)
    await t.rejects(refresh(before.refreshToken), WRONG)
    t.equal(await inspectToken(before.accessToken), 'revoked')
    const after = await tokens.begin(next, 60)
    t.equal(await inspectToken(after.accessToken), 'jane')
    t.equal(await inspectToken((await refresh(after.refreshToken)).accessToken), 'jane')
  },
)

t.test(
  'rejects revoked tokens of a deleted account even for an account with that id as its name',
  async (t) => {
    const { tokens, accounts, account, refresh } = await open(t)
    const { refreshToken } = await tokens.begin(account, 60)
    await accounts.delete('mx', 'jane', ID)
    await accounts.create('mx', { id: 'other', name: 'jane', scopes: ['admin'] }, ID)
    await t.rejects(refresh(refreshToken), WRONG)
  },
)

t.test('revokes all tokens of an account', async (t) => {
  const { tokens, accounts, account, refresh, inspectToken } = await open(t)
  const before = await tokens.begin(account, 60)
  await accounts.revoke('mx', 'jane', ID)
  t.equal(await inspectToken(before.accessToken), 'revoked')
  await t.rejects(refresh(before.refreshToken), WRONG)
})

t.test('revokes an access token alone, and a refresh token together with its login', async (t) => {
  const { tokens, account, refresh, inspectToken, revoke } = await open(t)
  const pair = await tokens.begin(account, 60)
  const next = await refresh(pair.refreshToken)
  t.match(await revoke(pair.accessToken), { namespace: 'mx', account: 'jane' })
  t.equal(await inspectToken(pair.accessToken), 'revoked')
  t.equal(await inspectToken(next.accessToken), 'jane')
  t.match(await revoke(next.refreshToken), { namespace: 'mx', account: 'jane' })
  t.equal(await inspectToken(next.accessToken), 'revoked')
  await t.rejects(refresh(next.refreshToken), WRONG)
  t.equal(await revoke(next.refreshToken), undefined)
  t.equal(await revoke(next.accessToken), undefined)
  t.equal(await revoke('nonsense'), undefined)
})

t.test('limits individual revocations and names the alternatives', async (t) => {
  const { tokens, account, refresh, revoke, revoked, accounts } = await open(t)
  const pair = await tokens.begin(account, 60)
  const issued = await Promise.all(Array.from({ length: 3600 }, () => tokens.issue(account)))
  for (const token of issued) await revoke(token)
  await t.rejects(revoke(pair.accessToken), { id: ID, code: 429 })
  t.ok(revoked.list().length <= 3600)
  t.match(await revoke(pair.refreshToken), { account: 'jane' })
  await t.rejects(refresh(pair.refreshToken), WRONG)
  await accounts.revoke('mx', 'jane', ID)
})

t.test('issues tokens for any account to components of the platform', async (t) => {
  const { tokens, inspectToken } = await open(t)
  const defaults = { scopes: ['service'], metadata: {}, issuer: 'mx' }
  const token = await tokens.issue({ id: 'x-latest', name: 'x', type: 'service', ...defaults })
  t.equal(await inspectToken(token), 'x-latest')
})
