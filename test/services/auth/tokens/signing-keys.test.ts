import { generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import { issueToken, verifyToken } from '../../../../core/auth/token/access-token.ts'
import type { Account } from '../../../../core/contracts/auth.ts'
import { parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'
import {
  type AuthParts,
  type AuthPartsOptions,
  openAuthParts,
} from '../../../fixtures/auth-parts.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

const ID = 'auth.Auth.RotateKey'
const HOUR_MS = 3600 * 1000
const sealer = parseSecretKey(Buffer.alloc(32, 1).toString('base64'), 'key')
const otherSealer = parseSecretKey(Buffer.alloc(32, 2).toString('base64'), 'key')
const ACCOUNT: Account = {
  ...{ id: 'jane', name: 'jane', type: 'user', issuer: 'mx', scopes: [], metadata: {} },
}

/** Another server with the same store and clock. */
function join(t: Test, { store, clock }: AuthParts, options: AuthPartsOptions = {}) {
  return openAuthParts(t, { store, clock, ...options })
}

function sign({ keys, clock }: AuthParts): Promise<string> {
  return issueToken(ACCOUNT, {
    ...{ key: keys.current(), id: 'a.b', nowMs: clock.ms, lifeS: 3600 },
  })
}

function verify({ keys, clock }: AuthParts, token: string): Promise<unknown> {
  return verifyToken(token, keys.all(), clock.ms)
}

t.test('creates a key on the first start and reuses it after a restart', async (t) => {
  const first = await openAuthParts(t, { sealer })
  const token = await sign(first)
  first.keys.close()
  const second = await join(t, first, { sealer })
  t.equal(second.keys.current().id, first.keys.current().id)
  t.equal(second.keys.all().size, 1)
  await verify(second, token)
  t.same(second.warnings, [])
})

t.test('encrypts private keys in the store, and warns without a key', async (t) => {
  const secret = (parts: AuthParts) =>
    parts.keys.current().privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')
  const dump = async ({ store }: AuthParts) => {
    const { records } = await store.list({ database: 'mx', table: 'auth' })
    return records.map(({ value }) => Buffer.from(value).toString()).join('\n')
  }
  const sealed = await openAuthParts(t, { sealer })
  t.notOk((await dump(sealed)).includes(secret(sealed)))
  const open = await openAuthParts(t)
  t.ok((await dump(open)).includes(secret(open)))
  t.match(open.warnings, [/stored unencrypted: set MX_CONFIG_SECRET_KEY/])
})

t.test(
  'publishes a new key before it signs and still verifies tokens with the old one',
  async (t) => {
    const one = await openAuthParts(t, { sealer })
    const two = await join(t, one, { sealer })
    const old = one.keys.current().id
    const before = await sign(one)
    const id = await one.keys.rotate(false, ID)
    t.equal(one.keys.current().id, old, 'the old key still signs')
    await waitUntil(() => two.keys.all().has(id))
    one.clock.ms += 2_000
    t.equal(one.keys.current().id, id)
    t.equal(two.keys.current().id, id)
    for (const parts of [one, two]) {
      await verify(parts, before)
      await verify(parts, await sign(one))
    }
    one.clock.ms += HOUR_MS + 65_000
    await waitUntil(() => !one.keys.all().has(old))
    t.same(
      [...two.keys.all().keys()],
      [id],
      'the old key is deleted on all servers once all its tokens have expired',
    )
  },
)

t.test('invalidates tokens immediately when old keys are dropped', async (t) => {
  const one = await openAuthParts(t, { sealer })
  const two = await join(t, one, { sealer })
  const token = await sign(one)
  const id = await one.keys.rotate(true, ID)
  t.equal(one.keys.current().id, id)
  await t.rejects(verify(one, token), { name: 'TokenError' })
  await waitUntil(() => two.keys.all().has(id) && two.keys.all().size === 1)
  t.equal(two.keys.current().id, id)
})

t.test('applies concurrent rotations without losing any of them', async (t) => {
  const one = await openAuthParts(t, { sealer })
  const two = await join(t, one, { sealer })
  const ids = await Promise.all([one, two, one].map(({ keys }) => keys.rotate(false, ID)))
  one.clock.ms += 2_000
  await waitUntil(() => ids.every((id) => two.keys.all().has(id)))
  t.equal(one.keys.current().id, two.keys.current().id)
})

t.test('replaces a key after 90 days', async (t) => {
  const one = await openAuthParts(t, { sealer })
  const old = one.keys.current().id
  one.clock.ms += 89 * 24 * HOUR_MS
  await join(t, one, { sealer })
  t.equal(one.keys.all().size, 1)
  one.clock.ms += 2 * 24 * HOUR_MS
  const two = await join(t, one, { sealer })
  await waitUntil(() => two.keys.all().size === 2)
  two.clock.ms += 2_000
  t.not(two.keys.current().id, old)
})

t.test(
  'creates another key if it cannot read the existing one, which still verifies',
  async (t) => {
    const one = await openAuthParts(t, { sealer })
    const token = await sign(one)
    const two = await join(t, one, { sealer: otherSealer })
    t.not(two.keys.current().id, one.keys.current().id)
    await verify(two, token)
    await waitUntil(() => one.keys.all().size === 2)
    await verify(one, await sign(one))
    t.match(one.warnings, [/another server replaced the signing key/])
  },
)

t.test('signs with a configured key without storing or replacing it', async (t) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const created = await openAuthParts(t, { sealer })
  const parts = await join(t, created, { privateKey })
  const token = await sign(parts)
  await waitUntil(() => created.keys.all().size === 2)
  await verify(created, token)
  await t.rejects(parts.keys.rotate(false, ID), { code: 409, message: /MX_AUTH_PRIVATE_KEY/ })
  parts.keys.close()
  const restarted = await join(t, created, { privateKey })
  t.equal(restarted.keys.current().id, parts.keys.current().id)
  t.equal(restarted.keys.all().size, 2)
  const withoutConfiguredKey = await join(t, created, { sealer })
  t.not(withoutConfiguredKey.keys.current().id, parts.keys.current().id)
  await verify(withoutConfiguredKey, token)
})

t.test('reports each key that was not requested once', async (t) => {
  const events: string[] = []
  const onReplaced = (id: string): void => void events.push(id)
  const one = await openAuthParts(t, { sealer, onReplaced })
  t.same(events, [one.keys.current().id], 'the first key is reported')
  await one.keys.rotate(false, ID)
  await join(t, one, { sealer, onReplaced })
  t.equal(events.length, 1, 'neither a requested key nor an existing one is reported')
  one.clock.ms += 91 * 24 * HOUR_MS
  const old = await join(t, one, { sealer, onReplaced })
  await waitUntil(() => events.length === 2)
  await waitUntil(() => old.keys.all().has(events[1]!))
  const { privateKey } = generateKeyPairSync('ed25519')
  const parts = await join(t, one, { privateKey, onReplaced })
  t.same(events.slice(2), [parts.keys.current().id])
})
