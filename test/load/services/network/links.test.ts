import t, { type Test } from 'tap'
import { MAX_PEERS } from '../../../../domain/mesh/limits.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import {
  findServer,
  listRoutes,
  openServer,
  type Status,
  type TestServer,
} from '../../../fixtures/network.ts'
import { openPeer, openRelay } from '../../../fixtures/network-peer.ts'
import { openRawBackend } from '../../../fixtures/raw-backend.ts'

const connect = (server: TestServer, ...addresses: string[]) =>
  server.sendRequest<{ links: Status['links'] }>('Connect', {
    nodes: addresses.map((address) => ({ address })),
  })
const getPort = ({ address }: TestServer): number => Number(address.split(':')[1])
/** Links as `id state`. */
const listLinks = async (server: TestServer): Promise<string[]> =>
  (await server.status()).links.map(({ id, state }) => `${id} ${state}`).sort()
const has =
  (server: TestServer, ...links: string[]) =>
  async () =>
    `${await listLinks(server)}` === `${links}`

t.test('a linked server links back until the peer leaves', async (t) => {
  const a = await openServer(t, 'a')
  const b = await openServer(t, 'b')
  await connect(a, b.address)
  await waitUntil(has(b, 'a linked'))
  t.strictSame((await b.status()).listeners, ['a'])
  await a.close()
  await waitUntil(has(b))
  const reopened = await openServer(t, 'a', { port: getPort(a), nodes: [b.address] })
  await waitUntil(has(b, 'a linked'))
  await b.close()
  await waitUntil(has(reopened, 'b waiting'), 10_000)
  t.match((await reopened.status()).links, [{ error: /./ }])
})

t.test(
  'a server is linked by one of its addresses, and by another address when the first one fails',
  async (t) => {
    const a = await openServer(t, 'a')
    const b = await openServer(t, 'b', { advertise: 'mx://127.0.0.1:1' })
    await b.serve('greeter')
    const relays = [await openRelay(t, getPort(b)), await openRelay(t, getPort(b))]
    await connect(a, `127.0.0.1:${relays[0]!.port}`)
    const { links } = await connect(a, `127.0.0.1:${relays[1]!.port}`)
    t.match(links, [
      {
        state: 'asleep',
        id: 'b',
        error: `the server b is linked at mx://127.0.0.1:${relays[0]!.port}`,
      },
    ])
    t.strictSame((await b.status()).listeners, ['a'])
    relays[0]!.stall()
    await waitUntil(has(a, 'b linked', 'b waiting'), 10_000)
    t.equal(await findServer(a, 'greeter'), 'b')
    relays[0]!.resume()
    await waitUntil(has(a, 'b asleep', 'b linked'), 10_000)
  },
)

t.test('calls avoid a link that cannot open a connection for calls', async (t) => {
  const a = await openServer(t, 'a')
  const b = await openServer(t, 'b', { advertise: 'mx://127.0.0.1:1' })
  const c = await openServer(t, 'c', { nodes: [b.address] })
  await b.serve('greeter')
  const relay = await openRelay(t, getPort(b))
  await connect(a, `127.0.0.1:${relay.port}`, c.address)
  await waitUntil(async () => (await listRoutes(a, 'greeter')).join() === 'b')
  await waitUntil(async () => a.network.table.list('greeter').length === 2)
  relay.stopListening()
  t.equal(await findServer(a, 'greeter'), 'b')
  t.strictSame(await listRoutes(a, 'greeter'), ['c b'])
  t.match((await a.status()).links[0], { id: 'b', error: /ECONNREFUSED/, failures: 1 })
  t.ok(a.lines.some((line) => line.includes('link lost')))
})

t.test('a server does not link to itself', async (t) => {
  const a = await openServer(t, 'a')
  t.match(await connect(a, a.address), {
    links: [{ state: 'asleep', id: 'a', error: 'the address belongs to this server' }],
  })
  t.notOk(a.lines.some((line) => /"level":[45]0/.test(line)))
})

t.test('servers that may not link report the reason once and retry', async (t) => {
  const a = await openServer(t, 'a', { token: 'one' })
  const cases: [options: object, error: string][] = [
    [{ token: 'two' }, 'network_token of server a does not match the token of b'],
    [{ token: 'one', networkName: 'x' }, 'server a belongs to network mx, b to network x'],
  ]
  for (const [options, error] of cases) {
    const b = await openServer(t, 'b', options)
    t.match(await connect(a, b.address), { links: [{ state: 'waiting', error }] })
    t.match(await connect(b, a.address), {
      links: [{ state: 'waiting', error: /^(network_token|server) / }],
    })
    t.strictSame([(await a.status()).listeners, (await b.status()).listeners], [[], []])
    await b.close()
  }
  const clone = await openServer(t, 'a', { token: 'one' })
  t.match(await connect(a, clone.address), {
    links: [{ error: /^duplicate server id a: the other server uses a copy of the data folder/ }],
  })
  const events = a.lines
    .filter((line) => /link (failed|not needed)/.test(line))
    .map((line) => JSON.parse(line))
  const addresses = events.map(({ address }) => address)
  t.equal(new Set(addresses).size, addresses.length, 'each address is logged once')
})

t.test(
  'a link back to an address of another server is not used, and is retried while the peer is linked',
  async (t) => {
    const a = await openServer(t, 'a')
    const b = await openServer(t, 'b')
    const closedBackend = await openRawBackend(t)
    closedBackend.close()
    // They advertise the addresses of b, of a itself, and of a closed port.
    const places = [b.address, a.address, `127.0.0.1:${closedBackend.port}`]
    const dishonestPeers = await Promise.all(
      places.map((advertise, i) => openServer(t, `liar-${i}`, { advertise })),
    )
    for (const dishonest of dishonestPeers) await connect(dishonest, a.address)
    await waitUntil(has(a, ' waiting', 'a asleep', 'b asleep'))
    t.match((await a.status()).links.map(({ error }) => error).sort(), [
      /ECONNREFUSED/,
      'the address belongs to server b, not to liar-0, which advertised it',
      'the address belongs to this server',
    ])
    t.strictSame((await a.status()).listeners, ['liar-0', 'liar-1', 'liar-2'])
    t.strictSame((await b.status()).listeners, [])
    await openServer(t, 'liar-2', { port: closedBackend.port })
    await waitUntil(has(a, 'a asleep', 'b asleep', 'liar-2 linked'), 10_000)
    await Promise.all(dishonestPeers.slice(0, 2).map((dishonest) => dishonest.close()))
    await waitUntil(has(a, 'liar-2 linked'))
  },
)

t.test('rejects a link beyond MAX_PEERS with 429', async (t: Test) => {
  const a = await openServer(t, 'a')
  const peer = await openPeer(t, () => {})
  const addresses = Array.from({ length: MAX_PEERS }, (_, i) => `127.1.0.${i + 1}:${peer.port}`)
  await connect(a, ...addresses)
  await t.rejects(connect(a, '127.2.0.1:1'), { code: 429, message: 'limit of 64 links reached' })
  await connect(a, addresses[0]!)
  const b = await openServer(t, 'b', { nodes: [a.address] })
  await waitUntil(async () => (await b.status()).links[0]?.state === 'waiting')
  t.match((await b.status()).links, [{ error: 'limit of 64 links reached' }])
})
