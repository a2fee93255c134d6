// Linked `mx server` processes that are killed, stopped and continued.
import { generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Client } from '../../sdk/client/client.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import type { RouteMessage } from '../../services/network/messages.ts'
import { eventually } from '../fixtures/eventually.ts'
import { type RunningMx, startMx } from '../fixtures/mx.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'
import { ADMIN } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'
import { rejectedWebSocket } from '../fixtures/web-gateway.ts'

t.setTimeout(180_000)

interface Server extends RunningMx {
  readonly id: string
  /** Address of the RPC proxy, `host:port`. */
  readonly address: string
  readonly gateway: string
  readonly client: Client
}

type NamedServers = Record<'a' | 'b' | 'c' | 'd' | 'e' | 'hub', Server>

interface Options {
  readonly nodes?: readonly Server[]
  /** Port of an earlier process. */
  readonly address?: string
  /** Folder of its store. @default in memory */
  readonly folder?: string
}

/** A shared key, so that servers accept each other's tokens. */
const SIGNING_KEY = String(
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
)

async function startServer(
  t: Test,
  id: string,
  { nodes = [], address = '127.0.0.1:0', folder }: Options = {},
): Promise<Server> {
  const args = [
    'server',
    `--server_id=${id}`,
    `--proxy_address=${address}`,
    '--address=127.0.0.1:0',
    '--web_address=127.0.0.1:0',
    '--access_log=off',
    ...(folder === undefined
      ? []
      : ['--store=lmdb', '--config_secret_key=file', `--data_dir=${folder}`]),
    ...nodes.map((node) => `--network_nodes=${node.address}`),
  ]
  const env = { MX_PROFILE: 'test', MX_AUTH_PRIVATE_KEY: SIGNING_KEY }
  const mx = startMx(args, { cwd: makeTempFolder(t, 'network'), env })
  t.teardown(() => mx.child.kill('SIGKILL'))
  await mx.waitUntil(/"server ready"/)
  const ready = mx.log().find(({ msg }) => msg === 'server ready')!
  const proxy = String(ready['proxy'])
  const client = openClient(t, { address: proxy, auth: ADMIN, retries: 0 })
  return { ...mx, id, address: proxy, gateway: String(ready['gateway']), client }
}

/** Servers with the given links, such as `a-b b-c`. */
async function startAll(t: Test, links: string): Promise<Record<string, Server>> {
  const ids = [...new Set(links.match(/\w+/g))]
  const started = await Promise.all(ids.map((id) => startServer(t, id)))
  const servers = Object.fromEntries(started.map((server) => [server.id, server]))
  for (const link of links.split(' ')) {
    const [from, to] = link.split('-').map((id) => servers[id]!)
    const nodes = [{ address: to!.address }]
    await from!.client.call('network', 'Network.Connect', { nodes })
  }
  return servers
}

/** A service of this process, registered at a server, which returns the id of that server. */
async function serve(t: Test, { id, address }: Server, name: string): Promise<void> {
  const service = createService(t, { name, proxy: address, auth: ADMIN }).handle('A', {
    where: endpoint({ handle: () => id, http: { method: 'GET', path: '/v1/where' } }),
    count: endpoint({
      stream: 'both',
      async *handle(numbers) {
        for await (const n of numbers) yield { n, id }
      },
    }),
  })
  await service.start()
}

async function kill({ child, ended }: Server): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

/** Server that responded to a call, or the code of the error. */
async function locate({ client }: Server, service: string): Promise<unknown> {
  try {
    return await client.call(service, 'A.Where', {}, { timeoutMs: 10_000 })
  } catch (error) {
    return (error as { readonly code: number }).code
  }
}

async function findPaths({ client }: Server, service: string): Promise<string> {
  const { routes } = await client.call<{ routes: RouteMessage[] }>('network', 'Network.Routes', {
    query: { service },
  })
  return routes.map(({ path }) => path.join(' ')).join(', ')
}

const responses = (server: Server, service: string, at: unknown) =>
  eventually(async () => (await locate(server, service)) === at)

/** Continuous callers: failures by code, and the number of calls. */
function load(t: Test, server: Server, service: string, callers: number) {
  const failures: unknown[] = []
  let count = 0
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      const response = await locate(server, service)
      count++
      if (typeof response === 'number') failures.push(response)
    }
  }
  const running = Array.from({ length: callers }, run)
  const stop = async (): Promise<void> => {
    stopped = true
    await Promise.all(running)
  }
  t.teardown(stop)
  const waitForMore = (n: number): Promise<void> => {
    const end = count + n
    return eventually(async () => count >= end)
  }
  return { failures, waitForMore, stop }
}

t.test(
  'a ring of five: routes avoid a killed server, and each caller loses at most one call',
  async (t) => {
    const { a, b, c, e } = (await startAll(t, 'a-b b-c c-d d-e e-a')) as NamedServers
    await serve(t, c, 'greeter')
    await responses(a, 'greeter', 'c')
    await eventually(async () => (await findPaths(a, 'greeter')) === 'b c, e d c')
    const { failures, waitForMore, stop } = load(t, a, 'greeter', 8)
    await waitForMore(200)
    await kill(b)
    await eventually(async () => (await findPaths(a, 'greeter')) === 'e d c')
    await waitForMore(200)
    t.ok(failures.length <= 8, `${failures.length} of 8 callers`)
    t.ok(failures.every((code) => code === 502))
    failures.length = 0
    const restarted = await startServer(t, 'b', { nodes: [a, c], address: b.address })
    await eventually(async () => (await findPaths(a, 'greeter')).startsWith('b c'))
    t.equal(await locate(restarted, 'greeter'), 'c')
    await waitForMore(200)
    await stop()
    t.strictSame(failures, [], 'no failure while the server returns')
    t.equal(await locate(e, 'greeter'), 'c')
  },
)

t.test('a line: partitions merge again, and loops end', async (t) => {
  const { a, b, c, d } = (await startAll(t, 'a-b b-c c-d')) as NamedServers
  await serve(t, a, 'left')
  await serve(t, d, 'right')
  await responses(a, 'right', 'd')
  await responses(d, 'left', 'a')
  const numbers = Array.from({ length: 2000 }, (_, i) => i)
  const received: unknown[] = []
  for await (const reply of a.client.stream('right', 'A.Count', numbers)) received.push(reply)
  t.strictSame(
    received,
    numbers.map((n) => ({ n, id: 'd' })),
    'a stream across two servers',
  )
  const reply = await fetch(`${a.gateway}/right/a/where`)
  t.strictSame([reply.status, await reply.json()], [200, 'd'], 'a request to the gateway')
  // The stopped server neither responds nor closes connections, as in a network partition.
  b.child.kill('SIGSTOP')
  t.teardown(() => b.child.kill('SIGCONT'))
  await eventually(async () => (await findPaths(d, 'left')) === '')
  await responses(d, 'left', 503)
  await responses(a, 'right', 503)
  const response = await fetch(`${d.gateway}/left/a/where`)
  t.strictSame(
    [response.status, response.headers.has('retry-after')],
    [503, true],
    'two links apart',
  )
  t.equal(await locate(c, 'right'), 'd', 'both partitions continue to work')
  t.equal(await locate(a, 'left'), 'a')
  b.child.kill('SIGCONT')
  await responses(a, 'right', 'd')
  await responses(d, 'left', 'a')
  // Each registry claims that the other server has the service.
  for (const [at, to] of [
    [a, b],
    [b, a],
  ] as const)
    await at.client.call('registry', 'Registry.Register', {
      name: 'loop',
      nodes: [{ id: to.id, address: to.address, metadata: { protocol: 'mx' } }],
    })
  t.equal(await locate(a, 'loop'), 508)
  t.equal(await locate(b, 'loop'), 508)
})

t.test('a star: its center and a leaf are killed and restarted', async (t) => {
  const { hub, b, c } = (await startAll(t, 'b-hub c-hub')) as NamedServers
  await serve(t, c, 'greeter')
  await responses(b, 'greeter', 'c')
  await kill(hub)
  await responses(b, 'greeter', 503)
  t.equal(await locate(c, 'greeter'), 'c')
  const folder = makeTempFolder(t, 'network')
  const a = await startServer(t, 'hub', { address: hub.address, folder })
  await responses(b, 'greeter', 'c')

  await serve(t, b, 'greeter')
  await eventually(async () => (await findPaths(a, 'greeter')) === 'b, c')
  const { failures, waitForMore, stop } = load(t, a, 'greeter', 8)
  await waitForMore(200)
  await kill(b)
  await waitForMore(400)
  t.ok(failures.length <= 8, `killed: ${failures.length} of 8 callers`)
  t.ok(failures.every((code) => code === 502))
  failures.length = 0
  const rejoined = await startServer(t, 'b', { nodes: [a], address: b.address })
  await eventually(async () => (await findPaths(a, 'greeter')) === 'b, c')
  await waitForMore(200)
  c.child.kill('SIGTERM')
  t.equal(await c.ended, 0)
  await waitForMore(200)
  await stop()
  t.strictSame(failures, [], 'no failure during a graceful stop')
  rejoined.child.kill('SIGTERM')
  t.equal(await rejoined.ended, 0)
  t.equal(await locate(a, 'greeter'), 503)
  a.child.kill('SIGTERM')
  t.equal(await a.ended, 0)
  const restarted = await startServer(t, 'hub', { folder })
  t.equal(await locate(restarted, 'greeter'), 503, 'even after a restart')
  for (const path of ['/greeter/a/where', '/v1/where']) {
    const { status, headers } = await fetch(`${restarted.gateway}${path}`)
    t.strictSame([status, headers.has('retry-after')], [503, true], path)
  }
})

t.test('a gateway opens no server link for its clients', async (t) => {
  const { gateway } = await startServer(t, 'a')
  const port = Number(new URL(gateway).port)
  for (const path of ['/network/link', '/network/Network/Link', '/network/Link']) {
    const { status } = await rejectedWebSocket(port, { path })
    t.equal(status, 404, path)
  }
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  t.equal((await fetch(`${gateway}/network/link`, options)).status, 404)
})
