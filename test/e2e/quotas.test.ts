// Quotas of a complete server. The error names the quota, and other namespaces and operators are not affected.
import t, { type Test } from 'tap'
import { type Deployer, makePlainProgram, openDeployer } from '../fixtures/deployer.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { logIn } from '../fixtures/server.ts'
import { startServerProcess } from '../fixtures/server-process.ts'

t.setTimeout(120_000)

const LIMITS = {
  ...{ store: '40kb', config: '40kb', events: '40kb' },
  // Programs have accounts, too.
  ...{ accounts: 5, rules: 3, registrations: 5, programs: 2, builds: 1, uploads: 2 },
}
const ATTEMPTS = 6
const TEXT = 'x'.repeat(10_000)
const DATA = Buffer.from(TEXT).toString('base64')
const PROGRAM = makePlainProgram('a')
const SLOW_BUILD = { ...PROGRAM, 'mx.yaml': `${PROGRAM['mx.yaml']}build: sleep 1000\n` }
const OK = { code: 200 }

interface Outcome {
  readonly code: number
  readonly message: string
}

/** An account with a namespace. */
interface Member {
  readonly post: (path: string, body: object) => Promise<Outcome>
  readonly deployer: Deployer
}

/** Uses part of a quota. */
type Use = (by: Member, i: number, namespace: string) => Promise<Outcome>

const { gateway, proxy, token } = await startServerProcess(t, [
  ...Object.entries(LIMITS).map(([name, limit]) => `--quota_${name}=${limit}`),
  ...['--runtime_namespaces=acme,other', '--register_allow=loopback'],
])

function open(token: string, namespace: string): Member {
  const headers = { authorization: `Bearer ${token}`, 'mx-namespace': namespace }
  return {
    deployer: openDeployer(t, openClient(t, { proxy, token, namespace, retries: 0 })),
    async post(path, body) {
      const reply = await fetch(`${gateway}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { code: reply.status, message: (await reply.json()).Detail }
    },
  }
}

async function openAdmin(namespace: string): Promise<Member> {
  const auth = { id: 'joe', secret: 'a secret of joe' }
  await operator.post('/auth/generate', { ...auth, scopes: ['admin'], options: { namespace } })
  return open(await logIn(gateway, auth, namespace), namespace)
}

function settle(done: Promise<unknown>): Promise<Outcome> {
  return done.then(
    () => ({ ...OK, message: '' }),
    ({ code, message }) => ({ code, message }),
  )
}

async function writeBlob({ deployer: { client } }: Member, key: string): Promise<void> {
  for await (const _ of client.stream('store', 'BlobStore.Write', [{ key, blob: DATA }])) return
}

function assertRejected(t: Test, outcome: Outcome, name: string, code: number): void {
  const message = new RegExp(`^quota_${name} reached in namespace acme: .*quota_${name}=acme=`)
  t.match(outcome, { code, message })
}

const USES: Readonly<Record<string, readonly [code: number, use: Use]>> = {
  store: [507, ({ post }, i) => post('/store/write', { record: { key: `k${i}`, value: DATA } })],
  config: [
    507,
    ({ post }, i) => post('/config/set', { path: `k${i}`, value: { data: JSON.stringify(TEXT) } }),
  ],
  events: [507, ({ post }) => post('/events/Stream/Publish', { topic: 'orders', payload: DATA })],
  accounts: [
    429,
    ({ post }, i, namespace) => post('/auth/generate', { id: `a${i}`, options: { namespace } }),
  ],
  rules: [
    429,
    ({ post }, i, namespace) => {
      const resource = { type: 'service', name: `s${i}`, endpoint: '*' }
      const rule = { id: `r${i}`, scope: '*', access: 'GRANTED', resource }
      return post('/auth/Rules/Create', { rule, options: { namespace } })
    },
  ],
  registrations: [
    429,
    ({ post }, i, domain) => {
      const nodes = [{ id: `n${i}`, address: '127.0.0.1:9', metadata: { protocol: 'mx' } }]
      return post('/registry/register', { name: `s${i}`, nodes, options: { domain } })
    },
  ],
  uploads: [429, ({ deployer }, i) => settle(deployer.upload(`u${i}`, PROGRAM))],
}

const operator = open(token, 'mx')
const operatorInAcme = open(token, 'acme')
const acme = await openAdmin('acme')
const other = await openAdmin('other')

t.test('rejects builds and programs beyond a quota with 429 in its namespace only', async (t) => {
  const create = ({ deployer }: Member, name: string, files = PROGRAM): Promise<Outcome> =>
    settle(deployer.create(name, files))
  t.match(await create(acme, 'slow', SLOW_BUILD), OK)
  assertRejected(t, await create(acme, 'shop'), 'builds', 429)
  for (const by of [other, operator]) t.match(await create(by, 'shop'), OK)
  await operatorInAcme.deployer.call('Delete', 'slow')
  for (const name of ['shop', 'cart']) {
    t.match(await create(acme, name), OK)
    t.match(await acme.deployer.settled(name), { metadata: { status: 'running' } })
  }
  assertRejected(t, await create(acme, 'third'), 'programs', 429)
  t.match(await settle(acme.deployer.update('shop', PROGRAM)), OK, 'an update adds no program')
})

for (const [name, [code, use]] of Object.entries(USES))
  t.test(
    `quota_${name}: rejects calls over the quota with ${code} in its namespace only`,
    async (t) => {
      let used = 0
      let last = await use(acme, used, 'acme')
      while (last.code === 200 && used < ATTEMPTS) last = await use(acme, ++used, 'acme')
      t.ok(used > 0)
      assertRejected(t, last, name, code)
      t.match(await use(other, 0, 'other'), OK)
      for (let i = 0; i <= used; i++) t.match(await use(operator, i, 'mx'), OK)
    },
  )

t.test('operators can free space in a namespace that reached its quotas', async (t) => {
  for (const [name, [code, use]] of Object.entries(USES)) {
    const outcome = await use(operatorInAcme, ATTEMPTS + 1, 'acme')
    if (name === 'accounts' || name === 'rules') t.match(outcome, OK, name)
    else assertRejected(t, outcome, name, code)
  }
  assertRejected(t, await settle(writeBlob(acme, 'k')), 'store', 507)
  for (const key of ['k0', 'k1']) t.match(await operatorInAcme.post('/store/delete', { key }), OK)
  t.match(await settle(writeBlob(acme, 'k')), OK)
  for (const name of ['shop', 'cart']) await operatorInAcme.deployer.call('Delete', name)
  const revoked = { id: 'joe', options: { namespace: 'acme' } }
  t.match(await operator.post('/auth/revoke', revoked), OK)
  t.match(await acme.post('/store/read', { key: 'k0' }), { code: 401 })
  for (const { deployer } of [other, operator]) await deployer.call('Delete', 'shop')
})
