// Accounts, tokens and keys of complete servers, one or several with a shared store.
import t, { type Test } from 'tap'
import { makeSecretKey } from '../../services/config/secrets/secret-key.ts'
import { waitUntil } from '../contracts/registry.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { type OpenServer, openServer } from '../fixtures/server.ts'

t.setTimeout(120_000)

async function logIn({ post }: OpenServer, id = 'admin', secret = 'mx') {
  const { status, body } = await post('/auth/token', { id, secret })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.token as { access_token: string; refresh_token: string }
}

const withToken = (token: string) => ({ authorization: `Bearer ${token}` })
const refresh = ({ post }: OpenServer, refresh_token: string) =>
  post('/auth/token', { refresh_token })

/** Status of a call that requires an account. */
const listRules = async ({ get }: OpenServer, token: string): Promise<number> =>
  (await get('/auth/rules/list', withToken(token))).status

t.test('grants an account its rights until its token is revoked', async (t) => {
  const server = await openServer(t)
  const { access_token, refresh_token } = await logIn(server)
  t.equal(await listRules(server, access_token), 200)
  const { body } = await server.post('/auth/revoke', { refresh_token })
  t.same(body, {})
  await waitUntil(async () => (await listRules(server, access_token)) === 401)
  t.match(await refresh(server, refresh_token), { status: 400 })
})

t.test('exposes the public keys to other programs', async (t) => {
  const { get } = await openServer(t)
  const { status, body } = await get('/auth/keys')
  t.equal(status, 200)
  t.match(body, { keys: [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' }] })
})

t.test('records audit events in the auth topic', async (t) => {
  const server = await openServer(t)
  await server.post('/auth/token', { id: 'admin', secret: 'guess' })
  const headers = withToken((await logIn(server)).access_token)
  await server.post('/auth/generate', { id: 'jane' }, headers)
  const read = async () => {
    const { body } = await server.post('/events/store/read', { topic: 'auth' }, headers)
    return (body.events ?? []).map(({ payload }: { payload: string }) =>
      JSON.parse(Buffer.from(payload, 'base64').toString()),
    )
  }
  await waitUntil(async () => (await read()).length === 4)
  const [key, admin, failed, created] = await read()
  t.match(key, { action: 'key.rotate', account: 'server', namespace: 'mx' }, 'the first key')
  t.match(admin, { action: 'account.create', target: 'admin', account: 'server' })
  t.match(failed, { action: 'login.failed', target: 'admin', address: '127.0.0.1' })
  t.match(created, { action: 'account.create', target: 'jane', account: 'mx/admin' })
})

t.test(
  'responds with 429 and Retry-After after too many failed logins from an address',
  async (t) => {
    const { url, post } = await openServer(t)
    const guess = { id: 'admin', secret: 'guess' }
    for (let i = 0; i < 5; i++) t.equal((await post('/auth/token', guess)).status, 400)
    const reply = await fetch(`${url}/auth/token`, {
      ...{ method: 'POST', body: JSON.stringify(guess) },
      headers: { 'content-type': 'application/json' },
    })
    t.equal(reply.status, 429)
    t.match(reply.headers.get('retry-after'), /^\d+$/)
    await reply.body?.cancel()
  },
)

async function openTwo(t: Test) {
  const postgres = await startPostgres(t)
  if (postgres === undefined) return undefined
  const args = [`--store=${postgres.url()}`, `--config_secret_key=${makeSecretKey()}`]
  const [one, two] = await Promise.all([openServer(t, args), openServer(t, args)])
  return { postgres, args, one, two }
}

t.test("servers with a shared store accept each other's tokens", async (t) => {
  const shared = await openTwo(t)
  if (shared === undefined) return
  const { one, two, args } = shared
  const first = await logIn(one)
  t.equal(await listRules(two, first.access_token), 200)
  const second = (await refresh(two, first.refresh_token)).body.token
  t.equal(await listRules(one, second.access_token), 200)

  const keys = async ({ get }: OpenServer) => (await get('/auth/keys')).body.keys.length
  const before = await keys(two)
  const rotated = await one.post('/auth/rotateKey', {}, withToken(second.access_token))
  t.equal(rotated.status, 200)
  await waitUntil(async () => (await keys(two)) === before + 1)
  t.equal(
    await listRules(two, second.access_token),
    200,
    'tokens of the old key are still accepted',
  )
  const three = await openServer(t, args)
  t.equal(await listRules(three, second.access_token), 200)
  const last = await logIn(three)
  for (const server of [one, two]) t.equal(await listRules(server, last.access_token), 200)

  await two.post('/auth/revoke', { refresh_token: second.refresh_token })
  const revokedMs = performance.now()
  await waitUntil(async () => (await listRules(one, second.access_token)) === 401)
  t.ok(performance.now() - revokedMs < 1000, 'a revocation is in force everywhere within a second')
})

t.test('rejects logins and accepts existing sessions while the store is unavailable', async (t) => {
  const shared = await openTwo(t)
  if (shared === undefined) return
  const { one, postgres } = shared
  const { access_token } = await logIn(one)
  const listTopics = () => one.post('/events/stream/topics', {}, withToken(access_token))
  await postgres.stop()
  t.match(await one.post('/auth/token', { id: 'admin', secret: 'mx' }), { status: 503 })
  t.match(await listTopics(), { status: 200 })
  await postgres.start()
  await waitUntil(
    async () => (await one.post('/auth/token', { id: 'admin', secret: 'mx' })).status === 200,
  )
})
