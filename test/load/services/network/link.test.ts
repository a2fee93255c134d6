import t, { type Test } from 'tap'
import { parseServerAddress } from '../../../../domain/mesh/address.ts'
import { MAX_LINK_MESSAGE_BYTES } from '../../../../domain/mesh/limits.ts'
import { createAdmission } from '../../../../services/network/admission.ts'
import { createLink, type LinkEnd, type LinkOwner } from '../../../../services/network/link.ts'
import {
  followProtocol,
  openPeer,
  openRelay,
  type PeerEnd,
} from '../../../fixtures/network-peer.ts'
import { openRawBackend, waitUntil } from '../../../fixtures/raw-backend.ts'

/** A link to an address, and the events of its owner. */
function open(t: Test, address: string, change: Partial<LinkOwner> = {}, token = '') {
  const events: string[] = []
  const ends: LinkEnd[] = []
  const owner: LinkOwner = {
    reject: () => undefined,
    onLinked: (_link, { id }) => events.push(`linked ${id}`),
    onCost: () => {},
    onUpdate: (_link, _peer, updates) =>
      events.push(`update ${updates.map(({ key }) => key).join(' ')}`),
    onSettled(_link, end) {
      ends.push(end)
      events.push(end.wasLinked ? 'lost' : 'failed')
    },
    ...change,
  }
  const admission = createAdmission({
    id: 'a',
    network: 'mx',
    address: () => '',
    token,
    isOpen: true,
  })
  const link = createLink({ address: parseServerAddress(address)!, admission, owner })
  t.teardown(link.close)
  return { link, events, ends }
}

t.test('a link is established after the first response and measures its cost', async (t) => {
  const peer = await openPeer(t, followProtocol)
  const { link, events } = open(t, peer.address)
  t.equal(link.state, 'connecting')
  await link.settled()
  t.equal(link.state, 'linked')
  t.strictSame(events, ['linked peer'])
  t.ok(link.roundTrip.cost > 0)
  t.ok(link.roundTrip.ms > 0)
  t.equal(link.reason, undefined)
  t.strictSame(
    peer.links[0]!.received.slice(0, 3).map(({ type }) => type),
    ['hello', 'proof', 'ping'],
  )
  peer.links[0]!.send({ type: 'routes', routes: [{ key: 'greeter' }, { key: '@b' }] })
  await waitUntil(() => events.length > 1)
  t.strictSame(events, ['linked peer', 'update greeter @b'])
  await waitUntil(() => peer.links[0]!.received.length > 5)
  t.strictSame(peer.links[0]!.received.at(-1), { type: 'ping', n: 4 }, 'measured repeatedly')
})

t.test('a malformed or unexpected message ends the link, which reconnects', async (t) => {
  const updates = { key: 's', path: ['peer'], metric: 0, entry: [] }
  const cases: [speak: (end: PeerEnd) => void, reason: RegExp][] = [
    [(end) => end.sendBytes('{'), /^malformed message: .*JSON/],
    [(end) => end.sendBytes('null'), /: message must be an object$/],
    [
      (end) => end.send({ type: 'routes', routes: [updates] }),
      /: routes\[0\]\.entry must be a list/,
    ],
    [(end) => end.send({ type: 'pong', n: 99 }), /: unexpected message type pong$/],
    [(end) => end.send({ type: 'proof', proof: '' }), /: unexpected message type proof$/],
    [(end) => end.welcome(), /: unexpected message type welcome$/],
    [(end) => end.send({ type: 'x'.repeat(1000) }), /^.{1,600}$/],
    [
      (end) => end.sendBytes(`"${'x'.repeat(MAX_LINK_MESSAGE_BYTES)}"`),
      /: message must be at most 1048576 bytes, got 1048578$/,
    ],
    [(end) => end.call.endData(), /^the service ended the stream$/],
  ]
  for (const [sendMessages, reason] of cases) {
    const peer = await openPeer(t, followProtocol)
    const { link, events, ends } = open(t, peer.address)
    await link.settled()
    sendMessages(peer.links[0]!)
    await waitUntil(() => ends.length > 0)
    t.match(ends[0], { wasLinked: true, hasFailedBefore: false, peer: { id: 'peer' } })
    t.match(ends[0]!.reason.message, reason)
    t.equal(link.state, 'waiting')
    await waitUntil(() => events.length > 2)
    t.strictSame(events, ['linked peer', 'lost', 'linked peer'])
  }
})

t.test('routes that the owner rejects end the link', async (t) => {
  const peer = await openPeer(t, followProtocol)
  const { link, ends } = open(t, peer.address, {
    onUpdate() {
      throw new TypeError('limit exceeded')
    },
  })
  await link.settled()
  peer.links[0]!.send({ type: 'routes', routes: [] })
  await waitUntil(() => ends.length > 0)
  t.equal(ends[0]!.reason.message, 'malformed message: limit exceeded')
  await waitUntil(() => peer.links[0]!.isCancelled)
})

t.test('routes before the handshake end the link', async (t) => {
  const peer = await openPeer(t, (end, { type }) => {
    if (type !== 'hello') return
    end.welcome()
    end.send({ type: 'routes', routes: [] })
  })
  const { link } = open(t, peer.address)
  await link.settled()
  t.match(link.reason, { message: 'malformed message: unexpected message type routes' })
})

t.test('a server without the token receives only hello and a proof', async (t) => {
  const peer = await openPeer(t, followProtocol)
  const { link, ends } = open(t, peer.address, {}, 'secret')
  await waitUntil(() => ends.length > 1)
  t.match(ends, [
    {
      reason: { code: 403, message: 'network_token of server peer does not match the token of a' },
      hasFailedBefore: false,
    },
    { reason: { code: 403 }, hasFailedBefore: true },
  ])
  for (const { received } of peer.links)
    t.strictSame(
      received.map(({ type }) => type),
      ['hello', 'proof'],
    )
  t.notMatch(JSON.stringify(peer.links.map(({ received }) => received)), 'secret')
  t.match(link.reason, { code: 403 })
})

t.test('servers with the same token link', async (t) => {
  const peer = await openPeer(t, followProtocol, { token: 'secret' })
  const { link } = open(t, peer.address, {}, 'secret')
  await link.settled()
  t.equal(link.state, 'linked')
})

t.test('an address without a network server is reported with the reason', async (t) => {
  const peer = await openPeer(t, (end) => {
    throw Object.assign(new Error('not here'), { end })
  })
  const { link } = open(t, peer.address)
  await link.settled()
  t.match(link, { state: 'waiting', reason: { code: 500 } })
  const unary = open(t, (await openPeer(t, ({ call }) => call.reply('', '{}'))).address)
  await unary.link.settled()
  t.match(unary.link.reason, { code: 502, message: 'the response is not a stream' })
  const http = await openRawBackend(t, { onRequest: (connection) => connection.reply() })
  const other = open(t, `127.0.0.1:${http.port}`)
  await other.link.settled()
  t.match(other.link.reason, {
    code: 502,
    message: /the WebSocket handshake failed with status 200/,
  })
  http.close()
  const noNetwork = open(t, `127.0.0.1:${http.port}`)
  await noNetwork.link.settled()
  t.match(noNetwork.link.reason, { code: 502, message: /ECONNREFUSED/ })
})

t.test('a redundant link stays inactive until it is woken', async (t) => {
  const peer = await openPeer(t, followProtocol)
  let rejection: string | undefined = 'there is one'
  const { link, events, ends } = open(t, peer.address, { reject: () => rejection })
  await link.settled()
  t.match(link, { state: 'asleep', reason: { code: 409, message: 'there is one' } })
  t.match(ends, [{ wasLinked: false, peer: undefined }])
  rejection = undefined
  link.activate()
  await link.settled()
  t.equal(link.state, 'linked')
  link.activate()
  t.equal(link.state, 'linked')
  link.close()
  link.activate()
  t.equal(link.state, 'asleep')
  await waitUntil(() => peer.links[1]!.isCancelled)
  t.strictSame(events, ['failed', 'linked peer'], 'closing reports no event to the owner')
})

t.test('wake retries a waiting link immediately', async (t) => {
  const http = await openRawBackend(t)
  http.close()
  const { link, ends } = open(t, `127.0.0.1:${http.port}`)
  for (let i = 0; i < 8; i++) {
    await waitUntil(() => ends.length > i)
    link.activate()
  }
  t.equal(ends.length, 8)
})

t.test('a link reported as lost ends and reconnects', async (t) => {
  const peer = await openPeer(t, followProtocol)
  const { link, events, ends } = open(t, peer.address)
  link.disconnect('not there yet')
  t.equal(link.state, 'connecting')
  await link.settled()
  link.disconnect('the call does not reach the server')
  t.match(link, {
    state: 'waiting',
    reason: { code: 502, message: 'the call does not reach the server' },
  })
  t.match(ends, [{ wasLinked: true, peer: { id: 'peer' } }])
  link.disconnect('again')
  await waitUntil(() => events.length > 2)
  t.strictSame(events, ['linked peer', 'lost', 'linked peer'])
})

t.test('a stalled connection ends the link within seconds', async (t) => {
  const peer = await openPeer(t, followProtocol)
  const relay = await openRelay(t, peer.port)
  const { link, events, ends } = open(t, `127.0.0.1:${relay.port}`)
  await link.settled()
  const startMs = performance.now()
  relay.stall()
  await waitUntil(() => ends.length > 0)
  const ms = performance.now() - startMs
  t.ok(ms > 1000, `${Math.round(ms)} ms`)
  t.match(ends[0], { wasLinked: true, reason: { message: /^127\.0\.0\.1:\d+ was silent/ } })
  relay.resume()
  await waitUntil(() => events.at(-1) === 'linked peer' && events.length > 2)
})

t.test('a server without a response is abandoned after five seconds', async (t) => {
  const peer = await openPeer(t, () => {})
  const { link, ends } = open(t, peer.address)
  await link.settled()
  t.match(ends, [{ reason: { code: 408, message: 'no link within 5000 ms' } }])
  await waitUntil(() => peer.links[0]!.isCancelled)
})
