// A program started by `mx run` attacks the platform with its account.
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createBroker } from '../../sdk/broker/broker.ts'
import { createEvents } from '../../sdk/events/events.ts'
import { waitUntil } from '../contracts/registry.ts'
import { isRunning } from '../fixtures/is-running.ts'
import { runMx } from '../fixtures/mx.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { type ServerProcess, startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(180_000)

/** A call of the program: service, endpoint, request, namespace. */
type Attempt = readonly [service: string, endpoint: string, request?: object, namespace?: string]

/** Makes the requested calls with the account of the program, independent of its service name. */
const PROGRAM = `
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Client, createBroker, createConfig, createEvents, createStore, endpoint, Service } from 'mx-gateway'

const service = new Service({ name: 'pay' })
const settle = async (call) => {
  try {
    return { code: 200, body: await call() }
  } catch ({ code, message }) {
    return { code, body: message }
  }
}
const first = async (stream) => {
  for await (const message of stream) return message
}
service.handle('Shop', {
  call: endpoint({
    handle: ({ service: name, endpoint, request, namespace }) =>
      settle(() => service.client.call(name, endpoint, request, { namespace, retries: 0 })),
  }),
  stream: endpoint({
    handle: ({ service: name, endpoint, request, namespace }) =>
      settle(() => first(service.client.stream(name, endpoint, request, { namespace }))),
  }),
  own: endpoint({
    handle: () => settle(async () => {
      const store = createStore(service)
      await store.write('order', { total: 12 })
      const [record] = await store.read('order')
      const config = await createConfig(service).get('shop', { secret: true })
      const events = createEvents(service)
      const published = await events.publish('orders', { id: 1 })
      const [event] = await events.read('orders')
      await createBroker(service).publish('orders', { id: 2 })
      return {
        name: service.name,
        total: record.json().total,
        key: config.json()?.key,
        sequence: published.sequence,
        event: event.unmarshal().id,
        victim: await service.client.call('pay', 'Pay.Call', {}),
      }
    }),
  }),
  second: endpoint({
    handle: () => settle(() => new Service({ name: 'other', address: '127.0.0.1:0' }).start()),
  }),
  credentials: endpoint({
    handle: () => ({ id: process.env.MX_AUTH_ID, secret: process.env.MX_AUTH_SECRET }),
  }),
  read: endpoint({
    handle: ({ paths }) => ({
      uid: process.getuid(),
      reads: paths.map((path) => {
        try {
          return readFileSync(path, 'latin1').slice(0, 100)
        } catch ({ code }) {
          return code
        }
      }),
    }),
  }),
  escape: endpoint({
    handle: ({ words }) => void spawn('setsid', ['env', '-i', ...words], { stdio: 'ignore' }),
  }),
})
await service.run()
`
const VICTIM = `
import { endpoint, Service } from 'mx-gateway'

await new Service({ name: 'pay' })
  .handle('Pay', { call: endpoint({ handle: () => 'paid' }) })
  .run()
`

const home = makeTempFolder(t, 'home')
const server: ServerProcess = await startServerProcess(t, [], { home })
const operator = openClient(t, { proxy: server.proxy, token: server.token, retries: 0 })
const sendRequest = <R = unknown>(service: string, name: string, request: object = {}) =>
  operator.call<R>(service, name, request)

async function mx(...args: string[]) {
  const env = { HOME: home, MX_ENV_LOCAL_ADDRESS: server.proxy }
  const { code, stdout, stderr } = await runMx(args, { cwd: home, env })
  if (code !== 0) throw new Error(`mx ${args.join(' ')}: ${stdout}${stderr}`)
}

async function run(name: string, program: string): Promise<void> {
  mkdirSync(join(home, name))
  writeFileSync(join(home, name, 'main.ts'), program)
  await mx('run', `./${name}`)
}

interface Outcome {
  readonly code: number
  // biome-ignore lint/suspicious/noExplicitAny: any response of a service.
  readonly body: any
}

async function program(method: string, request: object = {}): Promise<Outcome> {
  return sendRequest<Outcome>('shop', `Shop.${method}`, request)
}

async function attempt(
  kind: 'call' | 'stream',
  [service, endpoint, request = {}, namespace = 'mx']: Attempt,
) {
  const method = kind === 'call' ? 'Call' : 'Stream'
  return program(method, { service, endpoint, request, namespace })
}

const NODE = { id: 'evil', address: '127.0.0.1:9', metadata: { protocol: 'mx' } }
const BAN = {
  rule: {
    ...{ id: 'ban', scope: '', access: 'DENIED', priority: 1_000_000_000 },
    resource: { type: '*', name: '*', endpoint: '*' },
  },
  force: true,
}
const RECORD = { record: { key: 'order', value: '' } }
const RESOURCE = { resource: { service: { name: 'pay' } } }

/** Attacks by their target. */
const ATTACKS: Readonly<Record<string, readonly Attempt[]>> = {
  'configuration and secrets of other services': [
    ['config', 'Config.Get', { path: 'pay', options: { secret: true } }],
    ['config', 'Config.Get', { path: 'pay.key', options: { secret: true } }],
    ['config', 'Config.Get', { path: '', options: { secret: true } }],
    ['config', 'Config.Get', { path: 'shop', namespace: 'acme' }],
    ['config', 'Config.List', { path: '' }],
    ['config', 'Config.History'],
    ['config', 'Config.Set', { path: 'pay.key', value: { data: '1' } }],
    ['config', 'Config.Set', { path: 'shop.key', value: { data: '1' } }],
    ['config', 'Config.Delete', { path: 'pay' }],
    ['config', 'Config.Rollback', { version: 1 }],
  ],
  'records of other services': [
    ['store', 'Store.Read', { key: 'order', options: { table: 'pay' } }],
    ['store', 'Store.Write', { ...RECORD, options: { table: 'pay' } }],
    ['store', 'Store.Delete', { key: 'order', options: { table: 'pay' } }],
    ['store', 'Store.Write', { ...RECORD, options: { table: 'auth' } }],
    ['store', 'Store.Read', { key: 'order', options: { table: 'shop', database: 'acme' } }],
    ['store', 'Store.Databases'],
    ['store', 'Store.Tables'],
    ['store', 'BlobStore.List'],
  ],
  'registrations of other services': [
    ['registry', 'Registry.Register', { name: 'pay', nodes: [NODE] }],
    ['registry', 'Registry.Register', { name: 'other', nodes: [NODE] }],
    ['registry', 'Registry.Register', { name: 'auth', nodes: [NODE] }],
    ['registry', 'Registry.Register', { name: 'shop', nodes: [NODE], options: { domain: 'acme' } }],
    ['registry', 'Registry.Deregister', { name: 'pay', nodes: [NODE] }],
    ['registry', 'Registry.ListServices', { options: { domain: '*' } }],
  ],
  administration: [
    ['auth', 'Accounts.List'],
    ['auth', 'Accounts.Delete', { id: 'admin' }],
    ['auth', 'Accounts.ChangeSecret', { id: 'admin', new_secret: 'a new secret' }],
    ['auth', 'Auth.Generate', { id: 'evil', type: 'service', scopes: ['service'] }],
    ['auth', 'Auth.Generate', { id: 'evil', scopes: ['workload:mx/pay'] }],
    ['auth', 'Auth.Generate', { id: 'evil', scopes: ['admin'] }],
    ['auth', 'Auth.Generate', { id: 'evil' }],
    ['auth', 'Auth.Revoke', { id: 'admin' }],
    ['auth', 'Auth.RotateKey', { drop: true }],
    ['auth', 'Rules.Create', BAN],
    ['auth', 'Rules.Create', { ...BAN, force: false }],
    ['auth', 'Rules.Delete', { id: 'default', force: true }],
    ['runtime', 'Runtime.Read'],
    ['runtime', 'Runtime.Create', { resource: { service: { name: 'evil', source: 'x' } } }],
    ['runtime', 'Runtime.Update', RESOURCE],
    ['runtime', 'Runtime.Delete', RESOURCE],
    ['network', 'Network.Connect', { nodes: [{ address: '127.0.0.1:9' }] }],
    ['network', 'Network.Routes'],
    ['api', 'Api.Plugins'],
    ['api', 'Api.Routes'],
    ['broker', 'Broker.Stats'],
    ['events', 'Stream.DeleteTopic', { topic: 'orders' }],
    ['events', 'Stream.DeleteGroup', { topic: 'orders', group: 'workers' }],
    ['events', 'Stream.Publish', { topic: 'auth', payload: '' }],
    ['events', 'Stream.Publish', { topic: 'auth.dead', payload: '' }],
    ['events', 'Store.Read', { topic: 'auth' }],
    ['events', 'Store.Read', { topic: 'auth.dead' }],
    ['events', 'Stream.Groups', { topic: 'auth' }],
    ['pay', 'Debug.Log'],
  ],
  'other namespaces': [
    ['broker', 'Broker.Publish', { topic: 'a', message: { header: {}, body: '' } }, 'acme'],
    ['broker', 'Broker.ReportDropped', { topic: 'a', count: 1 }, 'acme'],
    ['events', 'Stream.Publish', { topic: 'a', payload: '' }, 'acme'],
    ['events', 'Store.Read', { topic: 'a' }, 'acme'],
    ['events', 'Stream.Topics', { groups: true }, 'acme'],
    ['events', 'Stream.Groups', { topic: 'a' }, 'acme'],
    ['events', 'Stream.DeleteGroup', { topic: 'a', group: 'workers' }, 'acme'],
    ['store', 'Store.Write', RECORD, 'acme'],
    ['auth', 'Rules.List', { options: { namespace: 'acme' } }],
  ],
}
const STREAMS: readonly Attempt[] = [
  ['store', 'Store.Watch', { options: { table: 'pay' } }],
  ['config', 'Config.Watch', { path: 'pay', options: { secret: true } }],
  ['runtime', 'Runtime.Logs', { service: 'pay' }],
  ['runtime', 'Runtime.Watch'],
  ['events', 'Stream.Consume', { topic: 'auth', sequence: 1, auto_ack: true }],
  ['events', 'Stream.Consume', { topic: 'auth.dead', group: 'workers', auto_ack: true }],
  ['events', 'Stream.Consume', { topic: 'a', sequence: 1, auto_ack: true }, 'acme'],
  ['events', 'Stream.Consume', { topic: 'a', group: 'workers' }, 'acme'],
  ['broker', 'Broker.Subscribe', { topic: 'a' }, 'acme'],
  ['broker', 'Broker.Subscribe', { topic: 'a', queue: 'workers' }, 'acme'],
  ['runtime', 'Build.Read', { service: { name: 'pay' } }],
]

t.before(async () => {
  const password = readFileSync(join(home, '.mx/admin_password'), 'utf8').trim()
  await mx('login', 'admin', `--password=${password}`)
  for (const name of ['pay', 'shop'])
    await sendRequest('config', 'Config.Set', {
      ...{ path: `${name}.key`, value: { data: `"of ${name}"` }, options: { secret: true } },
    })
  await sendRequest('store', 'Store.Write', { ...RECORD, options: { table: 'pay' } })
  await run('pay', VICTIM)
  await run('shop', PROGRAM)
})

t.test('a program runs under its service name and can use its own resources', async (t) => {
  t.match(await program('Own'), {
    code: 200,
    body: { name: 'shop', total: 12, key: 'of shop', sequence: 1, event: 1, victim: 'paid' },
  })
  const watched = await attempt('stream', ['auth', 'Rules.Watch'])
  t.match(watched, { code: 200, body: { rules: [{ id: 'default' }] } })
  t.match(await attempt('call', ['registry', 'Registry.GetService', { service: 'pay' }]), {
    code: 200,
  })
})

t.test('a program is denied access to resources of other services', async (t) => {
  const isDenied = (t: Test, { code, body }: Outcome, [service, endpoint]: Attempt): void => {
    t.ok(
      [401, 403].includes(code),
      `${service}.${endpoint}: ${code} ${JSON.stringify(body)?.slice(0, 200)}`,
    )
  }
  for (const [target, attempts] of Object.entries(ATTACKS))
    await t.test(target, async (t) => {
      for (const target of attempts) isDenied(t, await attempt('call', target), target)
    })
  for (const one of STREAMS) isDenied(t, await attempt('stream', one), one)
  t.match(
    (await attempt('call', ATTACKS['registrations of other services']![0]!)).body,
    /workload:mx\/pay.*workload:mx\/shop/,
  )
})

t.test('a program receives and publishes no messages or events of another namespace', async (t) => {
  const acme = { namespace: 'acme' }
  const [broker, events] = [createBroker(operator, acme), createEvents(operator, acme)]
  const messages: unknown[] = []
  const onMessage = (body: unknown): void => void messages.push(body)
  t.teardown(await broker.subscribe('a', onMessage, { queue: 'workers' }))
  await events.publish('a', 0)
  const consumed = events.consume('a', { group: 'workers', offset: 1 })
  const consume = async () => (await consumed.next()).value?.unmarshal()
  t.equal(await consume(), 0)

  // The names are the same in its own namespace, or could resolve to the other namespace.
  const topics = ['a', 'acme.a', 'acme=a', 'mx=acme.a', '../acme/a', 'acme\0a']
  const joined = topics.flatMap((topic) => [
    attempt('stream', ['broker', 'Broker.Subscribe', { topic, queue: 'workers' }]),
    attempt('stream', ['events', 'Stream.Consume', { topic, group: 'workers', auto_ack: true }]),
  ])
  const groups = async (topic: string) =>
    (await sendRequest<{ groups: object[] }>('events', 'Stream.Groups', { topic })).groups.length
  const subscribers = async () =>
    (await sendRequest<{ subscribers: number }>('broker', 'Broker.Stats')).subscribers
  await waitUntil(async () => (await subscribers()) === 3)
  for (const topic of ['a', 'acme.a']) await waitUntil(async () => (await groups(topic)) === 1)
  const numbers = Array.from({ length: 10 }, (_, i) => i + 1)
  for (const number of numbers) {
    await broker.publish('a', number)
    await events.publish('a', number)
  }
  for (const number of numbers) t.equal(await consume(), number)

  const header = { 'mx-namespace': 'acme', 'mx-topic': 'acme.a' }
  const evil = Buffer.from('"evil"').toString('base64')
  for (const topic of topics) {
    await attempt('call', ['broker', 'Broker.Publish', { topic, message: { header, body: evil } }])
    await attempt('call', ['events', 'Stream.Publish', { topic, payload: evil }])
  }
  for (const { code, body } of await Promise.all(joined))
    if (code === 200) t.match(body, { [body.payload ? 'payload' : 'body']: evil })
    else t.equal(code, 400)
  await broker.publish('a', 'end')
  await events.publish('a', 'end')
  t.equal(await consume(), 'end')
  await waitUntil(() => messages.at(-1) === 'end')
  t.strictSame(messages, [...numbers, 'end'])
  await consumed.return?.()
})

t.test(
  'a program cannot read the data folder or the environment of the server',
  { skip: process.getuid?.() !== 0 && 'requires root' },
  async (t) => {
    const dataFolder = join(home, '.mx')
    // Including the credentials that `mx login` stores.
    const files = readdirSync(dataFolder, { withFileTypes: true }).filter((file) => file.isFile())
    const names = ['config_secret_key', 'service_credentials', 'server/store/data.mdb']
    const paths = [
      ...[...files.map(({ name }) => name), ...names].map((name) => join(dataFolder, name)),
      `/proc/${server.child.pid}/environ`,
    ]
    for (const path of paths) t.ok(existsSync(path), path)
    const { uid, reads } = await sendRequest<{ uid: number; reads: string[] }>(
      'shop',
      'Shop.Read',
      {
        paths,
      },
    )
    t.ok(uid >= 200_000)
    for (const [i, path] of paths.entries()) t.match(reads[i], /^(?:EACCES|EPERM|ENOENT)$/, path)
  },
)

t.test('rejects a second service name of a program with a reason', async (t) => {
  const { code, body } = await program('Second')
  t.not(code, 200)
  t.match(body, /cannot register other .*workload:mx\/other.*mx run --name=other/)
})

t.test(
  'operators can log in and administer after the attack, and the victim is unchanged',
  async (t) => {
    const { rules } = await sendRequest<{ rules: { id: string }[] }>('auth', 'Rules.List')
    t.same(
      rules.map(({ id }) => id),
      ['default'],
    )
    t.match(await sendRequest('pay', 'Pay.Call'), 'paid')
    const { services } = await sendRequest<{ services: { nodes: object[] }[] }>(
      'registry',
      'Registry.GetService',
      { service: 'pay' },
    )
    t.equal(services.flatMap(({ nodes }) => nodes).length, 1)
  },
)

t.test('mx kill deletes the account of the program and ends its processes', async (t) => {
  const command = ['/bin/sleep', String(randomInt(1e6, 1e9))]
  await program('Escape', { words: command })
  await waitUntil(async () => isRunning(command))
  const auth = await sendRequest<{ id: string; secret: string }>('shop', 'Shop.Credentials')
  t.equal(auth.id, 'shop@latest')
  const anonymousClient = openClient(t, { proxy: server.proxy, retries: 0 })
  const logIn = (request: object) =>
    anonymousClient.call<{ token: Record<string, string> }>('auth', 'Auth.Token', request)
  const { token } = await logIn(auth)
  await mx('kill', 'shop')
  t.equal(isRunning(command), false, 'even in its own session, without the environment')
  const { accounts } = await sendRequest<{ accounts: { id: string }[] }>('auth', 'Accounts.List')
  t.same(accounts.map(({ id }) => id).sort(), ['admin', 'local', 'pay@latest'])
  await t.rejects(logIn(auth), { code: 400 })
  await t.rejects(logIn({ refresh_token: token['refresh_token'] }), { code: 400 })
  const clientAfterKill = openClient(t, {
    proxy: server.proxy,
    token: token['access_token']!,
    retries: 0,
  })
  const write = clientAfterKill.call('store', 'Store.Write', {
    ...RECORD,
    options: { table: 'shop' },
  })
  await t.rejects(write, { code: 401 })
})
