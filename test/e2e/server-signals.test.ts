// SIGTERM: while the server starts, and with calls that do not end.
import { connect, createServer } from 'node:net'
import t from 'tap'
import { BUILT_IN_SERVICES } from '../../platform/built-in-services.ts'
import { until } from '../contracts/registry.ts'
import { startConsul } from '../fixtures/consul.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { launchServer, startServerProcess } from '../fixtures/server-process.ts'

t.setTimeout(240_000)

const START_MS = 60_000

t.test('SIGTERM at any moment of the start leaves nothing in Consul', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const count = async (): Promise<number> =>
    Object.keys((await consul.call('GET', '/agent/services')) as object).length
  for (const registered of [1, 2, 4, BUILT_IN_SERVICES.length]) {
    const registry = `--registry=consul://${consul.host}:${consul.port}`
    const { child, ended, output } = launchServer(t, ['--profile=test', registry])
    await until(async () => (await count()) >= registered, START_MS)
    child.kill('SIGTERM')
    t.equal(await ended, 0, `${registered} services`)
    t.equal(await count(), 0)
    t.match(output.stderr, /server stopped/)
  }
})

t.test('SIGTERM while what it stands on does not answer ends it, too', async (t) => {
  const consul = await startConsul(t)
  if (consul === undefined) return
  const registry = `--registry=consul://${consul.host}:${consul.port}`
  const { child, ended } = launchServer(t, ['--profile=test', registry])
  await until(
    async () => Object.keys((await consul.call('GET', '/agent/services')) as object).length > 0,
    START_MS,
  )
  await consul.kill()
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

/** Sends one request after the other over a connection, until an answer says that it was the last one. Returns how that ended. */
function askOnAndOn(gateway: string): { ended: Promise<string>; answers: () => number } {
  const { hostname, port, host } = new URL(gateway)
  let answers = 0
  const ended = new Promise<string>((resolve) => {
    const socket = connect(Number(port), hostname)
    const ask = (): void => void socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    let answer = ''
    socket.setEncoding('latin1').on('connect', ask)
    socket.on('data', (text: string) => {
      answer += text
      if (!answer.endsWith('}')) return
      answers++
      if (/^connection: close/im.test(answer)) resolve('in order')
      answer = ''
      ask()
    })
    socket.on('error', ({ message }) => resolve(message))
    socket.on('close', () => resolve('closed without an answer'))
  })
  return { ended, answers: () => answers }
}

t.test('requests on their way over kept connections are answered', async (t) => {
  const server = await startServerProcess(t, ['--profile=test'])
  const asking = Array.from({ length: 50 }, () => askOnAndOn(server.gateway))
  await until(() => asking.every(({ answers }) => answers() > 5), START_MS)
  server.child.kill('SIGTERM')
  const ends = await Promise.all(asking.map(({ ended }) => ended))
  t.same([...new Set(ends)], ['in order'])
  t.equal(await server.ended, 0)
})

t.test('calls that hang, of several services, take drain_timeout once', async (t) => {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.close())
  const { port } = silent.address() as { port: number }
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
