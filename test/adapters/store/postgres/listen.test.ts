import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createConnections } from '../../../../adapters/store/postgres/client/connections.ts'
import { parsePostgresUrl } from '../../../../adapters/store/postgres/client/url.ts'
import { packEvents } from '../../../../adapters/store/postgres/events.ts'
import { type Listening, listen } from '../../../../adapters/store/postgres/listen.ts'
import { type PostgresServer, startPostgres } from '../../../fixtures/postgres.ts'

const table = { database: 'mx', table: 'users' }
const [PAYLOAD] = packEvents([{ type: 'write', table, key: 'a' }])

interface Listener extends Listening {
  /** `write a`, `gap`, ... */
  readonly events: string[]
}

t.test('listening', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return

  t.test('emits notifications until stopped', async (t) => {
    const { events, settled, stop } = open(t, server.url())
    await settled
    await notify(server, 'other')
    await notify(server)
    await waitUntil(() => events.length > 0)
    await stop()
    await notify(server)
    const connected = `SELECT FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()`
    while ((await server.query(connected)).length > 0) await delay(5)
    t.same(events, ['write a'])
  })

  t.test('reports missed events for an unknown payload', async (t) => {
    const { events, settled } = open(t, server.url())
    await settled
    await server.query(`NOTIFY "test", 'hello'`, 'mx')
    await waitUntil(() => events.length > 0)
    t.same(events, ['gap'])
  })

  t.test('resumes after an outage and reports missed events', async (t) => {
    const { events, settled } = open(t, server.url())
    await settled
    for (const end of [server.kill, server.stop]) {
      events.length = 0
      await end()
      await server.start()
      await waitUntil(() => events.length > 0)
      await notify(server)
      await waitUntil(() => events.length > 1)
      t.same(events, ['gap', 'write a'])
    }
  })

  t.test('resumes after the server closed the connection', async (t) => {
    const { events, settled } = open(t, server.url())
    await settled
    await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%LISTEN%'
      AND pid <> pg_backend_pid()`)
    await waitUntil(() => events.length > 0)
    await notify(server)
    await waitUntil(() => events.length > 1)
    t.same(events, ['gap', 'write a'])
  })

  t.test('starts once the server is reachable, and reports missed events', async (t) => {
    await server.stop()
    const { events, settled } = open(t, server.url())
    await settled
    t.same(events, [])
    await server.start()
    await waitUntil(() => events.length > 0)
    t.same(events, ['gap'])
  })

  t.test('detects a silent server', async (t) => {
    const proxy = await startProxy(t, server.port)
    const { events, settled } = open(t, server.url().replace(`:${server.port}`, `:${proxy.port}`))
    await settled
    proxy.freeze()
    await waitUntil(() => events.length > 0)
    await notify(server)
    await waitUntil(() => events.length > 1)
    t.same(events, ['gap', 'write a'])
  })

  t.test('stops immediately during an outage', async (t) => {
    const { settled, stop } = open(t, server.url())
    await settled
    await server.stop()
    await stop()
    t.pass('stop does not wait')
  })
})

function open(t: Test, url: string): Listener {
  const connections = createConnections({
    address: parsePostgresUrl(url),
    maxConnections: 1,
    connectTimeoutMs: 1000,
    statementTimeoutMs: 1000,
    onWarning: () => {},
    prepare: async () => {},
  })
  const events: string[] = []
  const listening = listen({
    connect: connections.connect,
    channel: 'test',
    heartbeatMs: 100,
    listener: {
      onEvent: ({ type, key }) => events.push(`${type} ${key}`),
      onMissedEvents: () => events.push('gap'),
    },
  })
  t.teardown(listening.stop)
  return { events, ...listening }
}

function notify(server: PostgresServer, channel = 'test'): Promise<unknown> {
  return server.query(`NOTIFY "${channel}", '${PAYLOAD}'`, 'mx')
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(1)
}

/** Relays bytes to a server until the open connections are stalled. */
async function startProxy(t: Test, port: number): Promise<{ port: number; freeze: () => void }> {
  const sockets = new Set<Socket>()
  const server = createServer((front) => {
    const back = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [front, back],
      [back, front],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => sockets.delete(from))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as { port: number }).port,
    freeze() {
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
}
