// SIGTERM during the start, with calls in flight, under load, and with calls that never end.
import { connect, createServer } from 'node:net'
import t from 'tap'
import { BUILT_IN_SERVICES } from '../../platform/server/built-in/services.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { createStore } from '../../sdk/store/store.ts'
import { waitUntil } from '../contracts/registry.ts'
import { startConsul } from '../fixtures/consul.ts'
import { listen } from '../fixtures/listen.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'
import { launchServer, startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(240_000)

const START_MS = 60_000

t.test('SIGTERM at any time during startup leaves nothing in Consul', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const count = async (): Promise<number> =>
    Object.keys((await consul.call('GET', '/agent/services')) as object).length
  for (const registered of [1, 2, 4, BUILT_IN_SERVICES.length]) {
    const registry = `--registry=consul://${consul.host}:${consul.port}`
    const { child, ended, output } = launchServer(t, ['--profile=test', registry])
    await waitUntil(async () => (await count()) >= registered, START_MS)
    child.kill('SIGTERM')
    t.equal(await ended, 0, `${registered} services`)
    t.equal(await count(), 0)
    t.match(output.stderr, /server stopped/)
  }
})

t.test('SIGTERM ends the server while its dependencies do not respond', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const registry = `--registry=consul://${consul.host}:${consul.port}`
  const { child, ended } = launchServer(t, ['--profile=test', registry])
  await waitUntil(
    async () => Object.keys((await consul.call('GET', '/agent/services')) as object).length > 0,
    START_MS,
  )
  await consul.kill()
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

/** Sends requests one by one over a connection until a response closes it, and returns how the connection ended. */
function requestContinuously(gateway: string): { ended: Promise<string>; answers: () => number } {
  const { hostname, port, host } = new URL(gateway)
  let answers = 0
  const ended = new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname)
    const sendRequest = (): void => void socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    let response = ''
    socket.setEncoding('latin1').on('connect', sendRequest)
    socket.on('data', (text: string) => {
      response += text
      if (!response.endsWith('}')) return
      answers++
      if (/^connection: close/im.test(response)) resolve('in order')
      response = ''
      sendRequest()
    })
    socket.on('error', ({ message }) => resolve(message))
    socket.on('close', () => resolve('closed without a response'))
  })
  return { ended, answers: () => answers }
}

t.test('completes requests in flight on keep-alive connections', async (t) => {
  const server = await startServerProcess(t, ['--profile=test'])
  const clients = Array.from({ length: 50 }, () => requestContinuously(server.gateway))
  await waitUntil(() => clients.every(({ answers }) => answers() > 5), START_MS)
  server.child.kill('SIGTERM')
  const outcomes = await Promise.all(clients.map(({ ended }) => ended))
  t.same([...new Set(outcomes)], ['in order'])
  t.equal(await server.ended, 0)
})

t.test('waits drain_timeout once for hanging calls of several services', async (t) => {
  const silent = createServer()
  const port = await listen(t, silent)
  const server = await startServerProcess(t, ['--profile=test', '--drain_timeout=5s'])
  const client = openClient(t, { proxy: server.proxy, auth: server.auth, retries: 0 })
  const parts = async function* (): AsyncGenerator<object> {
    yield { key: 'a', blob: 'AA==' }
    await new Promise(() => {})
  }
  const hanging = Promise.allSettled([
    client.stream('store', 'BlobStore.Write', parts()).reply(),
    client.call('network', 'Network.Connect', { nodes: [{ address: `127.0.0.1:${port}` }] }),
  ])
  await new Promise((resolve) => silent.once('connection', resolve))
  const startMs = performance.now()
  server.child.kill('SIGTERM')
  t.equal(await server.ended, 0)
  const tookMs = performance.now() - startMs
  t.ok(tookMs >= 4900 && tookMs < 9900, `${Math.round(tookMs)} ms`)
  await hanging
})

t.test('SIGTERM completes running requests and calls and accepts no more', async (t) => {
  const server = await startServerProcess(t)
  let release: () => void = () => {}
  const pending = new Promise<void>((resolve) => {
    release = resolve
  })
  let waiting = 0
  const slow = createService(t, { name: 'slow', proxy: server.proxy, auth: server.auth })
  slow.handle('Slow', {
    wait: endpoint({
      async handle() {
        waiting++
        await pending
        return { done: true }
      },
    }),
  })
  await slow.start()
  const client = openClient(t, { proxy: server.proxy, auth: server.auth, retries: 0 })
  const request = fetch(`${server.gateway}/slow/wait`).then((reply) => reply.json())
  const call = client.call('slow', 'Slow.Wait')
  await waitUntil(() => waiting === 2)
  server.child.kill('SIGTERM')
  await server.waitUntil(/SIGTERM: draining/)
  await t.rejects(fetch(`${server.gateway}/`, { headers: { connection: 'close' } }))
  release()
  t.same(await request, { done: true })
  t.same(await call, { done: true })
  t.equal(await server.ended, 0)
  t.match(server.log().at(-1), { msg: 'server stopped' })
})

t.test(
  'SIGTERM under load: acknowledged writes exist, and only rejected requests fail',
  async (t) => {
    const home = makeTempFolder(t, 'home')
    const server = await startServerProcess(t, [], { home })
    const client = openClient(t, { proxy: server.proxy, auth: server.auth, retries: 0 })
    const store = createStore(client, { table: 'load' })
    const acknowledged = new Set<string>()
    /** Reasons of rejections by key. */
    const rejected = new Map<string, string>()
    const lost: string[] = []
    const viaProxy = async (writer: number): Promise<void> => {
      for (let n = 0; ; n++) {
        const key = `proxy/${writer}/${n}`
        try {
          await store.write(key, key)
          acknowledged.add(key)
        } catch (error) {
          const { code, message } = error as { code: number; message: string }
          if (code === 502 || code === 503) rejected.set(key, `${code} ${message}`)
          else lost.push(`${code} ${message}`)
          return
        }
      }
    }
    const viaGateway = async (writer: number): Promise<void> => {
      for (let n = 0; ; n++) {
        const key = `gateway/${writer}/${n}`
        const record = { key, value: Buffer.from(key).toString('base64') }
        let reply: Response
        try {
          reply = await fetch(`${server.gateway}/store/write`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${server.token}`,
              'content-type': 'application/json',
              connection: 'close',
            },
            body: JSON.stringify({ record, options: { table: 'load' } }),
          })
        } catch (error) {
          rejected.set(key, String((error as Error).cause))
          return
        }
        const text = await reply.text()
        if (reply.status === 200) acknowledged.add(key)
        else lost.push(`${reply.status} ${text}`)
      }
    }
    const load = [
      ...Array.from({ length: 20 }, (_, i) => viaProxy(i)),
      ...Array.from({ length: 20 }, (_, i) => viaGateway(i)),
    ]
    await waitUntil(() => acknowledged.size > 500, 30_000)
    server.child.kill('SIGTERM')
    await Promise.all(load)
    t.equal(await server.ended, 0)
    t.same(lost, [])
    t.equal(rejected.size, 40)
    t.comment(`${acknowledged.size} acknowledged; ${[...new Set(rejected.values())].join(' | ')}`)
    const next = await startServerProcess(t, [], { home })
    const table = createStore(openClient(t, { proxy: next.proxy, auth: next.auth }), {
      table: 'load',
    })
    const result = new Set(await table.list())
    t.same(
      [...acknowledged].filter((key) => !result.has(key)),
      [],
    )
    t.same(
      [...rejected.keys()].filter((key) => result.has(key)),
      [],
      'rejected writes were not applied',
    )
  },
)

t.test('open watch streams do not delay shutdown', async (t) => {
  const server = await startServerProcess(t, ['--profile=test', '--drain_timeout=60s'])
  const client = openClient(t, { proxy: server.proxy, auth: server.auth })
  const watched = createStore(client)
    .watch()
    .next()
    .catch((error: Error) => error)
  const paths = ['registry/watch', 'store/watch', 'config/watch', 'broker/subscribe?topic=a']
  // The head of other streams waits for the first message.
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${server.token}` }
  const streams = await Promise.all(
    paths.map((path) => fetch(`${server.gateway}/${path}`, { headers })),
  )
  for (const { status } of streams) t.equal(status, 200)
  const startMs = performance.now()
  server.child.kill('SIGTERM')
  t.equal(await server.ended, 0)
  t.ok(performance.now() - startMs < 10_000)
  await watched
  for (const stream of streams) await stream.text().catch(() => {})
})

t.test('a second signal ends the server immediately', async (t) => {
  const server = await startServerProcess(t, ['--profile=test'])
  const slow = createService(t, { name: 'slow', proxy: server.proxy, auth: server.auth })
  let waiting = 0
  slow.handle('Slow', {
    wait: endpoint({
      handle(_request, ctx) {
        waiting++
        return new Promise((_, reject) =>
          ctx.signal.addEventListener('abort', () => reject(new Error('gone'))),
        )
      },
    }),
  })
  await slow.start()
  const request = fetch(`${server.gateway}/slow/wait`).catch(() => undefined)
  await waitUntil(() => waiting === 1)
  server.child.kill('SIGTERM')
  await server.waitUntil(/SIGTERM: draining/)
  server.child.kill('SIGTERM')
  t.equal(await server.ended, 1)
  await request
})
