import t from 'tap'
import type { PeerMessage, RouteMessage } from '../../../services/network/messages.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { openServer, toText } from '../../fixtures/network.ts'
import { openRawBackend } from '../../fixtures/raw-backend.ts'

t.test('Connect opens a link to each address once and returns their states', async (t) => {
  const a = await openServer(t, 'a')
  const b = await openServer(t, 'b')
  const closedBackend = await openRawBackend(t)
  closedBackend.close()
  const nodes = [b.address, `127.0.0.1:${closedBackend.port}`, `mx://${b.address}`]
  const response = await a.sendRequest('Connect', { nodes: nodes.map((address) => ({ address })) })
  t.match(response, {
    links: [
      { address: `mx://${b.address}`, id: 'b', state: 'linked', error: '' },
      // Runs between two attempts or during the next one.
      {
        ...{ address: `mx://127.0.0.1:${closedBackend.port}`, id: '' },
        ...{ state: /^(waiting|connecting)$/, error: /ECONNREFUSED/ },
      },
    ],
  })
  t.equal((response['links'] as unknown[]).length, 2, 'a duplicate address is linked once')
})

t.test('rejects an invalid address with 400 and the address, and opens no link', async (t) => {
  const a = await openServer(t, 'a')
  const cases: [nodes: unknown, message: RegExp][] = [
    [undefined, /^request\.nodes is missing$/],
    [[], /^request\.nodes must/],
    [[{}], /^request\.nodes\[0\]\.address is missing$/],
    [[{ address: 1 }], /^request\.nodes\[0\]\.address must be/],
    [
      [{ address: 'b:1' }, { address: 'http://b:1' }],
      /^request\.nodes\[1\]\.address must be host:port, mx:\/\/host:port or mxs:\/\/host:port \(TLS\), with a port from 1 to 65535, got "http:\/\/b:1"$/,
    ],
    [[{ address: 'b:0' }], /got "b:0"$/],
    [Array(65).fill({ address: 'b:1' }), /^request\.nodes must/],
  ]
  for (const [nodes, message] of cases)
    await t.rejects(a.sendRequest('Connect', { nodes }), { code: 400, message }, String(message))
  t.strictSame((await a.status()).links, [])
})

t.test(
  'Graph, Nodes, Routes, Services and Status describe a network of three servers',
  async (t) => {
    const a = await openServer(t, 'a')
    const b = await openServer(t, 'b', { nodes: [a.address] })
    const c = await openServer(t, 'c', { nodes: [b.address] })
    await c.serve('greeter')
    const services = async () => (await a.sendRequest<{ services: string[] }>('Services')).services
    await waitUntil(async () => (await services()).includes('greeter'))
    t.strictSame(await services(), ['greeter', 'network'])
    t.strictSame(await a.sendRequest('Services', { limit: 1 }), {
      services: ['greeter'],
      next: 'greeter',
    })
    const graph = async (request = {}) =>
      toText((await a.sendRequest<{ root: PeerMessage }>('Graph', request)).root)
    t.equal(await graph(), 'a(b(c))')
    t.equal(await graph({ depth: 1 }), 'a(b)')
    const nodes = [a, b, c].map(({ id, address }) => ({
      id,
      address: `mx://${address}`,
      network: 'mx',
    }))
    t.strictSame(await a.sendRequest('Nodes'), { nodes })
    t.strictSame(await a.sendRequest('Nodes', { depth: 1 }), { nodes: nodes.slice(0, 2) })
    const query = { service: 'greeter' }
    const { routes } = await a.sendRequest<{ routes: RouteMessage[] }>('Routes', { query })
    t.ok(routes[0]!.metric >= 2)
    t.strictSame(
      routes.map((route) => ({ ...route, metric: 2 })),
      [
        {
          service: 'greeter',
          address: `mx://${c.address}`,
          gateway: `mx://${b.address}`,
          network: 'mx',
          router: 'b',
          link: 'network',
          metric: 2,
          path: ['b', 'c'],
        },
      ],
    )
    await waitUntil(async () => (await b.status()).listeners.length > 1)
    t.match(await b.status(), {
      node: nodes[1],
      links: [
        { id: 'a', state: 'linked' },
        { id: 'c', state: 'linked' },
      ],
      listeners: ['a', 'c'],
    })
  },
)
