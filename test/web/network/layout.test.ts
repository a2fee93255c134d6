import t from 'tap'
import type { PeerMessage } from '../../../services/network/messages.ts'
import { layOut } from '../../../web/network/layout.ts'

const toPeer = (id: string, ...peers: PeerMessage[]): PeerMessage => ({
  node: { id, address: `mx://${id}:1`, network: 'mx' },
  peers,
})

t.test('places a single server in the center', async (t) => {
  const { servers, links } = layOut(toPeer('a'))
  t.match(servers, [{ server: { id: 'a' }, hops: 0, x: 0, y: 0 }])
  t.same(links, [])
})

t.test('places the other servers on circles by distance', async (t) => {
  const { servers, links } = layOut(toPeer('a', toPeer('b', toPeer('c')), toPeer('d')))
  t.same(
    servers.map(({ server, hops }) => [server.id, hops]),
    [
      ['a', 0],
      ['b', 1],
      ['d', 1],
      ['c', 2],
    ],
  )
  const distances = servers.map(({ x, y }) => Math.round(Math.hypot(x, y)))
  t.same(distances, [0, 110, 110, 220])
  t.same(
    links.map(({ from, to }) => [servers[from]!.server.id, servers[to]!.server.id].join('')),
    ['ab', 'ad', 'bc'],
  )
})

t.test('places each server and link of a cycle once', async (t) => {
  const { servers, links } = layOut(
    toPeer('a', toPeer('b', toPeer('c')), toPeer('c', toPeer('b'), toPeer('a'))),
  )
  t.same(
    servers.map(({ server }) => server.id),
    ['a', 'b', 'c'],
  )
  t.equal(links.length, 3)
})

t.test('many servers do not overlap', async (t) => {
  const { servers } = layOut(toPeer('a', ...Array.from({ length: 64 }, (_, i) => toPeer(`b${i}`))))
  for (const [i, a] of servers.entries())
    for (const b of servers.slice(i + 1)) t.ok(Math.hypot(a.x - b.x, a.y - b.y) > 20)
})
