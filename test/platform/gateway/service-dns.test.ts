// Names of nodes against a name server on loopback and backends on several loopback addresses.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type ConfiguredGateway, openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { openDnsServer } from '../../fixtures/dns-server.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

/** Responds with its address; and to `/hold` once it is released. */
async function openBackend(t: Test, host: string, port = 0) {
  const pending: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url!.endsWith('/hold')) pending.push(response)
    else response.end(host)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  t.teardown(close)
  return { port: (server.address() as AddressInfo).port, pending, close }
}

async function count(
  { send }: ConfiguredGateway,
  requests: number,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (let i = 0; i < requests; i++) {
    const { status, text } = await send('GET', '/shop/')
    const key = status === 200 ? text : `${status}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

const [A, B, C] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const

t.test('each address of a name is a node, and changes are followed', async (t) => {
  const dns = await openDnsServer(t)
  const a = await openBackend(t, A)
  const b = await openBackend(t, B, a.port)
  await openBackend(t, C, a.port)
  dns.records.set('shop.internal', [A, B])
  const gateway = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: ["shop.internal:${a.port}"], dns: { refresh: 1s, servers: "${dns.address}" } } }`,
  )
  t.strictSame(await count(gateway, 4), { [A]: 2, [B]: 2 })

  const pendingRequests = Promise.all([1, 2].map(() => gateway.send('GET', '/shop/hold')))
  await waitUntil(() => a.pending.length + b.pending.length === 2)
  dns.records.set('shop.internal', [B, C])
  while ((await count(gateway, 2))[C] === undefined);
  t.strictSame(await count(gateway, 4), { [B]: 2, [C]: 2 }, 'the vanished address is not used')
  for (const response of [...a.pending, ...b.pending]) response.end('survived')
  t.strictSame(
    (await pendingRequests).map(({ text }) => text),
    ['survived', 'survived'],
    'requests in flight at the vanished address',
  )

  for (const code of [2, 3]) {
    dns.code = code
    const before = dns.queries
    await waitUntil(() => dns.queries > before + 3)
    t.strictSame(
      await count(gateway, 4),
      { [B]: 2, [C]: 2 },
      `code ${code}: the last known addresses stay in use`,
    )
  }
  dns.code = 0
  dns.records.set('shop.internal', [A])
  while ((await count(gateway, 1))[A] === undefined);
  t.strictSame(await count(gateway, 4), { [A]: 4 }, 'follows changes again')
})

t.test('uses the weights of SRV records, and their priorities for failover', async (t) => {
  const dns = await openDnsServer(t)
  const [a, b, c] = [await openBackend(t, A), await openBackend(t, B), await openBackend(t, C)]
  const toRecord = (name: string, port: number, priority: number, weight: number) => ({
    ...{ name: `${name}.shop.internal`, port, priority, weight },
  })
  dns.records.set('_http._tcp.shop.internal', [
    toRecord('a', a.port, 10, 3000),
    toRecord('b', b.port, 10, 1000),
    toRecord('c', c.port, 20, 1),
  ])
  for (const [name, address] of [
    ['a', A],
    ['b', B],
    ['c', C],
  ] as const)
    dns.records.set(`${name}.shop.internal`, [address])
  const text = (refresh: string) =>
    `services: { shop: { nodes: ["dns+srv://_http._tcp.shop.internal"], dns: { refresh: ${refresh}, servers: ["${dns.address}"] } } }`
  const gateway = await openConfiguredGateway(t, text('1h'))
  t.strictSame(await count(gateway, 8), { [A]: 6, [B]: 2 })
  const { queries } = dns
  await gateway.reload(text('1h'))
  t.equal(dns.queries, queries, 'an unchanged service is not resolved again')
  a.close()
  t.strictSame(await count(gateway, 4), { [B]: 4 })
  b.close()
  t.strictSame(await count(gateway, 4), { [C]: 4 }, 'the next priority')
  await openBackend(t, A, a.port)
  dns.records.set('_http._tcp.shop.internal', [toRecord('a', a.port, 30, 0)])
  await gateway.reload(text('30m'))
  t.strictSame(await count(gateway, 2), { [A]: 2 }, 'a reload with changed settings resolves again')
})

t.test('a name that does not resolve at startup returns 503 until it does', async (t) => {
  const dns = await openDnsServer(t)
  const { port } = await openBackend(t, A)
  const gateway = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: ["shop.internal:${port}"], dns: { refresh: 1h, servers: "${dns.address}" } } }`,
  )
  t.strictSame(await count(gateway, 1), { 503: 1 })
  dns.records.set('shop.internal', [A])
  while ((await count(gateway, 1))[A] === undefined);
  t.strictSame(await count(gateway, 1), { [A]: 1 })
})

t.test('names without servers are resolved by the system', async (t) => {
  const { port } = await openBackend(t, '127.0.0.1')
  const gateway = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: ["localhost:${port}"], dns: {} } }`,
  )
  t.strictSame(await count(gateway, 1), { '127.0.0.1': 1 })
})
