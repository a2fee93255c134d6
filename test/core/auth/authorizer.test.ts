import t, { type Test } from 'tap'
import { type AuthorizerOptions, createAuthorizer } from '../../../core/auth/authorizer.ts'
import { createApiKey } from '../../../core/auth/token/api-key.ts'
import type { Access, Account, Ruling } from '../../../core/contracts/auth.ts'
import { GatewayError } from '../../../core/errors.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../fixtures/auth-source.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { createTokenKey } from '../../fixtures/token-keys.ts'

const HELLO = { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' }
const LOGIN = { type: 'service', name: 'auth', endpoint: 'Auth.Token' }
const JANE = createAccount({ scopes: ['staff'] })
const STAFF_ONLY = createRule({ id: 'staff', scope: 'staff' })

function open(t: Test, options: AuthorizerOptions = {}, source = new MemoryAuthSource()) {
  const authorizer = createAuthorizer(source, options)
  t.teardown(authorizer.close)
  const authorize = (account?: Account, access: Partial<Access> = {}) =>
    authorizer.decide({ namespace: 'mx', account, resource: HELLO, ...access })
  const isGranted = async (account?: Account, access: Partial<Access> = {}) =>
    (await authorize(account, access)).granted
  return { authorizer, source, authorize, isGranted }
}

t.test('decisions are synchronous once the rules are loaded', async (t) => {
  const { authorize, isGranted, source } = open(t)
  source.setRules('mx', STAFF_ONLY)
  t.equal(await isGranted(JANE), true)
  t.equal((authorize(JANE) as Ruling).granted, true)
  t.equal((authorize(createAccount()) as Ruling).granted, false)
  t.equal((authorize() as Ruling).granted, false)
  t.same((authorize(JANE) as Ruling).rule, STAFF_ONLY)
})

t.test('rules apply to resources other than services, such as topics', async (t) => {
  const { isGranted, source } = open(t)
  source.setRules('mx', createRule({ resource: 'topic:orders:*' }))
  const resource = { type: 'topic', name: 'orders', endpoint: 'created' }
  t.equal(await isGranted(undefined, { resource }), true)
  t.equal(await isGranted(undefined, { resource: { ...resource, name: 'bills' } }), false)
})

t.test('a change of the rules takes effect immediately and calls onChange', async (t) => {
  const { authorizer, authorize, isGranted, source } = open(t)
  t.equal(await isGranted(), true)
  let notifications = 0
  const stop = authorizer.onChange(() => notifications++)
  source.setRules('mx', STAFF_ONLY)
  await waitUntil(() => notifications === 1)
  t.equal((authorize() as Ruling).granted, false)
  stop()
  source.setRules('mx', createRule())
  await waitUntil(() => (authorize() as Ruling).granted)
  t.equal(notifications, 1)
})

t.test('each namespace has its own rules', async (t) => {
  const { isGranted, source } = open(t)
  source.setRules('acme', STAFF_ONLY)
  t.equal(await isGranted(undefined, { namespace: 'acme' }), false)
  t.equal(await isGranted(), true)
  t.equal(await isGranted(JANE, { namespace: 'acme' }), false, 'a cross-namespace account')
})

t.test('an API key is verified once, and rejected once it is revoked', async (t) => {
  const reasons: string[] = []
  const { authorizer, source } = open(t, { onDenied: (reason) => void reasons.push(reason) })
  const key = createApiKey('00112233445566ff')
  const session = source.addApiKey(key, JANE)
  t.equal(await authorizer.identify(key), session)
  t.equal(authorizer.identify(key), session, 'synchronous')
  t.equal(source.verified, 1)
  source.apiKeys.clear()
  let notifications = 0
  authorizer.onChange(() => notifications++)
  source.revoke(session.id)
  await waitUntil(() => notifications === 1)
  await t.rejects(async () => authorizer.identify(key), { name: 'TokenError' })
  t.equal(reasons.length, 1)
})

t.test('a cached API key is accepted during an outage for at most 15 minutes', async (t) => {
  let nowMs = 1_800_000_000_000
  const { authorizer, source } = open(t, { nowMs: () => nowMs })
  const key = createApiKey('00112233445566ff')
  const session = source.addApiKey(key, JANE)
  await authorizer.identify(key)
  source.outage = new Error('unavailable')
  nowMs += 15 * 60_000 - 1
  t.equal(authorizer.identify(key), session)
  nowMs += 1
  await t.rejects(async () => authorizer.identify(key), { code: 503 })
})

t.test('the latest rules and keys apply while their source is unavailable', async (t) => {
  const outages: (string | undefined)[] = []
  const { authorizer, authorize, isGranted, source } = open(t, {
    onOutage: (reason) => void outages.push(reason?.message),
  })
  source.setRules('mx', STAFF_ONLY)
  const token = await source.issue(JANE)
  t.same((await authorizer.identify(token)).account, JANE)
  t.equal(await isGranted(JANE), true)
  source.disconnect(new Error('gone'))
  await waitUntil(() => outages.length > 0)
  t.equal((authorize() as Ruling).granted, false)
  t.equal((authorize(JANE) as Ruling).granted, true)
  t.same((await authorizer.identify(await source.issue(JANE))).account, JANE)
  source.recover()
  await waitUntil(() => outages.length > 1)
  t.same(outages, ['gone', undefined], 'one outage, although several watches and attempts failed')
  source.setRules('mx', createRule())
  await waitUntil(() => (authorize() as Ruling).granted)
})

t.test('closing during an outage does not report the end of the outage', async (t) => {
  const outages: (string | undefined)[] = []
  const { authorizer, isGranted, source } = open(t, {
    onOutage: (reason) => void outages.push(reason?.message),
  })
  t.equal(await isGranted(), true)
  source.disconnect(new Error('gone'))
  await waitUntil(() => outages.length > 0)
  authorizer.close()
  t.same(outages, ['gone'])
})

t.test('rejects calls other than logins with 503 before the rules are loaded', async (t) => {
  const source = new MemoryAuthSource()
  source.disconnect()
  const { authorizer, isGranted } = open(t, {}, source)
  const unknown = { code: 503, headers: ['retry-after', '1'] }
  await t.rejects(isGranted(), { ...unknown, id: 'helloworld' })
  await t.rejects(isGranted(JANE), unknown)
  t.equal(await isGranted(undefined, { resource: LOGIN }), true)
  await t.rejects(
    isGranted(undefined, { resource: { ...LOGIN, endpoint: 'Auth.Generate' } }),
    unknown,
  )
  await t.rejects(isGranted(undefined, { resource: { ...LOGIN, name: 'author' } }), unknown)
  await t.rejects(async () => authorizer.identify(await source.issue(JANE)), unknown)
  source.recover()
  await waitUntil(async () => isGranted().catch(() => false))
  const token = await source.issue(JANE)
  // Keys have a separate watch, which recovers independently.
  const isKnown = async () => (await authorizer.identify(token)).account.id === JANE.id
  await waitUntil(async () => isKnown().catch(() => false))
})

t.test(
  'the error says that auth denies access to rules and keys, without the reason',
  async (t) => {
    for (const [reason, expectedReason] of [
      [new GatewayError('auth', 400, 'Secret not correct'), 'unavailable: auth denied access'],
      [new GatewayError('auth', 429, 'too many failed logins'), 'unavailable: auth denied access'],
      [new GatewayError('auth', 408, 'no answer'), 'not available yet; try again'],
      [new GatewayError('auth', 502, 'no connection'), 'not available yet; try again'],
    ] as const) {
      const source = new MemoryAuthSource()
      source.disconnect(reason)
      const { authorizer, isGranted } = open(t, {}, source)
      await t.rejects(isGranted(), { code: 503, message: `access rules ${expectedReason}` })
      const token = await source.issue(JANE)
      await t.rejects(async () => authorizer.identify(token), {
        code: 503,
        message: `access token keys ${expectedReason}`,
      })
    }
  },
)

t.test('fails with 503 after waiting waitMs for rules and keys', async (t) => {
  const source = new MemoryAuthSource()
  const never = async function* (): AsyncGenerator<never, void, undefined> {
    await new Promise(() => {})
  }
  const authorizer = createAuthorizer(
    { watchRules: never, watchNamespaces: never, watchTokens: never },
    { waitMs: 10 },
  )
  t.teardown(authorizer.close)
  keepAlive(t)
  await t.rejects(
    async () => authorizer.decide({ namespace: 'mx', account: undefined, resource: HELLO }),
    {
      code: 503,
    },
  )
  await t.rejects(async () => authorizer.identify(await source.issue(JANE)), { code: 503 })
})

t.test('a verified token is cached until it is revoked', async (t) => {
  const { authorizer, source } = open(t)
  const token = await source.issue(JANE, { id: 'one' })
  const session = await authorizer.identify(token)
  t.equal(authorizer.identify(token), session)
  let notifications = 0
  authorizer.onChange(() => notifications++)
  source.revoke('one')
  await waitUntil(() => notifications === 1)
  await t.rejects(async () => authorizer.identify(token), {
    name: 'TokenError',
    message: 'revoked',
  })
})

t.test('a token is valid until its key is removed', async (t) => {
  const { authorizer, source } = open(t)
  const token = await source.issue(JANE)
  await authorizer.identify(token)
  let notifications = 0
  authorizer.onChange(() => notifications++)
  const next = createTokenKey()
  source.setKeys(source.key, next)
  await waitUntil(() => notifications === 1)
  t.notOk(authorizer.identify(token) instanceof Promise, 'still cached')
  source.setKeys(next)
  await waitUntil(() => notifications === 2)
  await t.rejects(async () => authorizer.identify(token), { name: 'TokenError' })
})

t.test('the reason why a token is rejected is reported once per token', async (t) => {
  const reasons: string[] = []
  const { authorizer, source } = open(t, { onDenied: (reason) => void reasons.push(reason) })
  const token = await source.issue(JANE, { nowMs: Date.now() - 3_600_000 })
  for (let i = 0; i < 3; i++) await t.rejects(async () => authorizer.identify(token))
  await t.rejects(async () => authorizer.identify('x'))
  t.equal(reasons.length, 2)
  t.match(reasons[0], /exp/)
})

t.test(
  'watches rules of at most maxNamespaces namespaces and drops the least recently used',
  async (t) => {
    const { authorizer, isGranted, source } = open(t, { maxNamespaces: 2 })
    for (const namespace of ['a', 'b', 'c']) source.setRules(namespace, createRule())
    const sendRequest = (namespace: string) => isGranted(undefined, { namespace })
    await sendRequest('mx')
    await sendRequest('a')
    await sendRequest('mx')
    await sendRequest('b')
    await sendRequest('mx')
    t.equal(source.watched.get('mx'), 1)
    let notifications = 0
    authorizer.onChange(() => notifications++)
    await sendRequest('c')
    await waitUntil(() => notifications === 1)
    t.pass('access by rules that are no longer watched is decided again')
    source.setRules('b', STAFF_ONLY)
    t.equal(await sendRequest('b'), false)
  },
)

t.test('a namespace without rules uses the default rule and no watch', async (t) => {
  const { authorizer, isGranted, authorize, source } = open(t, { maxNamespaces: 2 })
  source.setRules('acme', createRule())
  await isGranted()
  await isGranted(undefined, { namespace: 'acme' })
  const names = Array.from({ length: 100 }, (_, i) => `random-${i}`)
  for (const namespace of names)
    for (const account of [undefined, JANE])
      t.match(authorize(account, { namespace }), { granted: true, rule: { id: 'default' } })
  t.same(
    [...source.watched],
    [
      ['mx', 1],
      ['acme', 1],
    ],
  )
  let notifications = 0
  authorizer.onChange(() => notifications++)
  source.setRules('random-1', STAFF_ONLY)
  await waitUntil(() => notifications === 1)
  t.equal(await isGranted(undefined, { namespace: 'random-1' }), false)
})

t.test(
  'rejects calls other than logins with 503 before the list of namespaces is loaded',
  async (t) => {
    const source = new MemoryAuthSource()
    source.disconnect()
    const { isGranted } = open(t, {}, source)
    const acme = { namespace: 'acme' }
    await t.rejects(isGranted(undefined, acme), { code: 503 })
    t.equal(await isGranted(undefined, { ...acme, resource: LOGIN }), true)
    source.recover()
    await waitUntil(() => isGranted(undefined, acme).catch(() => false))
  },
)

t.test('a closed authorizer reports no changes', async (t) => {
  const { authorizer, isGranted, source } = open(t)
  await isGranted()
  let notifications = 0
  authorizer.onChange(() => notifications++)
  authorizer.close()
  source.setRules('mx', STAFF_ONLY)
  await new Promise(setImmediate)
  t.equal(notifications, 0)
})
