import type { NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { createNatsLink, type NatsLinkOptions } from '../../../adapters/nats/connection.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import { type NatsServer, startNats } from '../../fixtures/nats.ts'
import { openRawBackend, waitUntil } from '../../fixtures/raw-backend.ts'

function open(t: Test, url: string, options: Partial<NatsLinkOptions> = {}) {
  const warnings: string[] = []
  const connected: NatsConnection[] = []
  let disconnects = 0
  const link = createNatsLink({
    address: parseNatsUrl(url),
    onUp: (connection) => connected.push(connection),
    onDown: () => {
      disconnects++
    },
    onWarning: (message) => warnings.push(message),
    ...options,
  })
  t.teardown(link.close)
  return { link, warnings, connected, disconnects: () => disconnects }
}

const countConnections = async (server: NatsServer): Promise<number> =>
  (await server.monitor('/connz'))['num_connections'] as number

t.test('reconnects after a connection loss and reports both', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { link, warnings, connected, disconnects } = open(t, server.url)
  t.equal(link.connection, undefined)
  t.equal(await link.open(), link.connection)
  await link.tried
  await link.confirm()
  t.strictSame(warnings, [])
  for (let round = 1; round <= 3; round++) {
    await server.kill()
    await waitUntil(() => link.connection === undefined)
    t.equal(disconnects(), round)
    await t.rejects(link.open(), { message: /^NATS at nats:\/\/127\.0\.0\.1:\d+ is unreachable: / })
    await t.rejects(link.confirm(), { message: /is unreachable/ })
    await server.start()
    await waitUntil(() => link.connection !== undefined)
    await link.confirm()
    t.equal(connected.length, round + 1)
    t.equal(connected.at(-1), link.connection)
    t.match(warnings.splice(0), [
      /^NATS at nats:\/\/127\.0\.0\.1:\d+ is unreachable: .*; reconnecting$/,
      /^NATS at nats:\/\/127\.0\.0\.1:\d+ is reachable again after \d+ ms$/,
    ])
  }
  t.equal(await countConnections(server), 1)
})

t.test('waits for a server that is not started yet', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  await server.stop()
  const { link, warnings, connected } = open(t, server.url)
  await t.rejects(link.open(), { message: /is unreachable: 127\.0\.0\.1:\d+: connection refused$/ })
  t.equal(await link.tried, undefined, 'the first attempt was not rejected')
  await server.start()
  await waitUntil(() => connected.length > 0)
  await link.confirm()
  t.match(warnings, [/is unreachable: .*connection refused; retrying/, /is reachable again/])
  t.equal(warnings.length, 2, 'independent of the number of attempts')
})

t.test('reports a rejection without secrets and retries', async (t) => {
  const server = await startNats(t, { settings: ['authorization { token: "right" }'] })
  if (server === undefined) return
  const { link, warnings } = open(t, `nats://s3cret@127.0.0.1:${server.port}`)
  await t.rejects(link.tried, {
    denied: true,
    message:
      /^NATS at nats:\/\/127\.0\.0\.1:\d+ rejected the connection: .*Authorization Violation/i,
  })
  await t.rejects(link.open(), { denied: true, message: /rejected the connection/ })
  await server.start(['authorization { token: "s3cret" }'])
  await waitUntil(() => link.connection !== undefined)
  await link.confirm()
  t.notMatch(warnings.join(), /s3cret/)
  t.match(warnings[0], /rejected the connection: .*; retrying$/)
  t.match(warnings.at(-1), /is reachable again/)
})

t.test('uses any reachable server of the list and fails over', async (t) => {
  const [first, second] = [await startNats(t), await startNats(t)]
  if (first === undefined || second === undefined) return
  await first.stop()
  const { link, connected } = open(
    t,
    `nats://127.0.0.1:${first.port},127.0.0.1:${second.port}?prefix=test`,
  )
  t.match((await link.open()).getServer(), String(second.port))
  await first.start()
  await second.kill()
  await waitUntil(() => connected.length === 2)
  t.match(link.connection!.getServer(), String(first.port))
})

t.test('gives up on a frozen server and leaves no connection open', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const { link, connected, warnings } = open(t, server.url, { timeoutMs: 50, pingMs: 200 })
  await link.open()
  server.freeze()
  // On a busy machine the attempt may time out first.
  await t.rejects(link.confirm(), { message: /did not respond within 50 ms|is unreachable/ })
  await waitUntil(() => link.connection === undefined)
  await t.rejects(link.open(), { message: /is unreachable/ })
  // Attempts time out one by one.
  const sockets = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  const started = performance.now()
  let maximum = 0
  await waitUntil(() => {
    maximum = Math.max(maximum, sockets())
    return performance.now() - started > 700
  })
  t.ok(maximum <= 2, `${maximum} concurrent sockets`)
  server.resume()
  await waitUntil(() => connected.length === 2)
  await link.confirm()
  t.equal(warnings.length, 2)
  while ((await countConnections(server)) > 1);
  t.pass('the server has only the connection in use')
})

t.test('reports a permission violation once', async (t) => {
  const server = await startNats(t, {
    settings: [
      'authorization { users: [{ user: a, password: b, permissions: { publish: "mine.>" } }] }',
    ],
  })
  if (server === undefined) return
  const { link, warnings } = open(t, `nats://a:b@127.0.0.1:${server.port}`)
  const connection = await link.open()
  for (let i = 0; i < 5; i++) connection.publish('yours')
  await link.confirm()
  await waitUntil(() => warnings.length > 0)
  connection.publish('yours')
  await link.confirm()
  t.match(warnings, [/^NATS at .*Permissions Violation for Publish to "yours"/i])
  t.equal(warnings.length, 1)
})

t.test('replaces a connection that breaks in onUp', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  let connected = 0
  const { link } = open(t, server.url, {
    onUp() {
      connected++
      if (connected < 3) throw new Error('closed connection')
    },
  })
  await waitUntil(() => connected === 3)
  await link.confirm()
  await waitUntil(() => link.connection !== undefined)
  t.equal(await countConnections(server), 1)
})

t.test('sends the buffer and aborts attempts on close', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const other = open(t, server.url)
  const received: number[] = []
  const options = { callback: () => received.push(1) as unknown as undefined }
  ;(await other.link.open()).subscribe('a', options)
  await other.link.confirm()
  const { link, warnings } = open(t, server.url)
  const connection = await link.open()
  for (let i = 0; i < 1000; i++) connection.publish('a', new Uint8Array(1000))
  await link.close()
  await link.close()
  await waitUntil(() => received.length === 1000)
  t.equal(link.connection, undefined)
  await t.rejects(link.open(), { message: /^the connection to NATS at .* is closed$/ })
  await t.rejects(link.confirm(), { message: /is closed/ })
  t.strictSame(warnings, [])

  const silent = await openRawBackend(t)
  const pending = open(t, `nats://127.0.0.1:${silent.port}`, { timeoutMs: 60_000 })
  const rejected = t.rejects(pending.link.open(), { message: /is closed/ })
  await silent.connection()
  await pending.link.close()
  await rejected
  t.strictSame(pending.warnings, [])

  server.freeze()
  t.teardown(server.resume)
  const started = performance.now()
  await other.link.close()
  t.ok(performance.now() - started < 4000, 'a frozen server does not delay the close')
})
