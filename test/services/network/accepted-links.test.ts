import t, { type Test } from 'tap'
import { parseServerAddress } from '../../../domain/mesh/address.ts'
import { MAX_PEERS } from '../../../domain/mesh/limits.ts'
import type { RouteUpdate } from '../../../domain/mesh/messages.ts'
import { createRouteTable } from '../../../domain/mesh/routing-table.ts'
import { BodyStream } from '../../../sdk/client/streams/body-stream.ts'
import { createContext } from '../../../sdk/context.ts'
import { createAcceptedLinks } from '../../../services/network/accepted-links.ts'
import { createAdmission } from '../../../services/network/admission.ts'
import { createLink } from '../../../services/network/link.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { openServer, type TestServer } from '../../fixtures/network.ts'

/** A peer that only listens, with the route updates that it receives. */
function listen(t: Test, { address }: TestServer, id: string) {
  const events: string[] = []
  const reasons: string[] = []
  const admission = createAdmission({
    id,
    network: 'mx',
    address: () => '',
    token: '',
    isOpen: true,
  })
  const toText = ({ key, advertised }: RouteUpdate): string =>
    advertised === undefined ? `${key} gone` : `${key} ${advertised.path.join(' ')}`
  const link = createLink({
    address: parseServerAddress(address)!,
    admission,
    owner: {
      reject: () => undefined,
      onLinked: () => {},
      onCost: () => {},
      onUpdate: (_link, _peer, updates) =>
        events.push(...updates.filter(({ key }) => !key.startsWith('@')).map(toText)),
      onSettled: (_link, { reason }) => reasons.push(`${reason.code} ${reason.message}`),
    },
  })
  t.teardown(link.close)
  return { link, events, reasons }
}

t.test('a peer receives the existing routes, then each change', async (t) => {
  const a = await openServer(t, 'a')
  const b = await openServer(t, 'b', { nodes: [a.address] })
  const greeter = await a.serve('greeter')
  await b.serve('users')
  await waitUntil(
    async () => (await a.sendRequest<{ services: string[] }>('Services')).services.length > 2,
  )
  const { events } = listen(t, a, 'ear')
  // Some routes are received twice because their cost changes.
  await waitUntil(() => new Set(events).size > 1)
  t.strictSame(new Set(events), new Set(['greeter a', 'users a b']))
  await greeter.stop()
  await waitUntil(() => events.includes('greeter gone'))
})

t.test('a second link of a server replaces the first one, which ends with 409', async (t) => {
  const a = await openServer(t, 'a')
  const first = listen(t, a, 'ear')
  await first.link.settled()
  const second = listen(t, a, 'ear')
  await second.link.settled()
  await waitUntil(() => first.reasons.length > 0)
  t.strictSame(first.reasons[0], '409 the server ear has opened another link')
  second.link.close()
  first.link.close()
  await waitUntil(async () => (await a.status()).listeners.length === 0)
})

t.test('rejects a link beyond MAX_PEERS with 429 until another one closes', async (t) => {
  const a = await openServer(t, 'a')
  const subscriptions = Array.from({ length: MAX_PEERS }, (_, i) => listen(t, a, `ear-${i}`))
  // Some links wait until earlier links of their address have completed the handshake.
  await waitUntil(() => {
    for (const { link } of subscriptions) link.activate()
    return subscriptions.every(({ link }) => link.state === 'linked')
  })
  const { link, reasons } = listen(t, a, 'late')
  await waitUntil(() => reasons.length > 0)
  t.equal(reasons[0], '429 limit of 64 linked servers reached')
  subscriptions[0]!.link.close()
  await waitUntil(async () => !(await a.status()).listeners.includes('ear-0'))
  link.activate()
  await waitUntil(() => link.state === 'linked')
})

t.test('links without a proof are limited per address and in total', async (t) => {
  const options = { id: 'a', network: 'mx', address: () => '', token: 'secret', isOpen: false }
  const accepted = createAcceptedLinks({
    admission: createAdmission(options),
    table: createRouteTable({ id: 'a', onChange: () => {} }),
    links: { openReverseLink: () => {}, closeReverseLink: () => {} },
    log: createContext().log,
  })
  t.teardown(accepted.close)
  accepted.begin()
  const open = (from: string) =>
    accepted.open(
      new BodyStream({ decode: (body) => body, onConsumed: () => {} }) as AsyncIterable<unknown>,
      from,
      'network.Network.Link',
    )
  const first = open('192.0.2.1')
  for (let i = 1; i < 16; i++) open('192.0.2.1')
  const tooMany = (count: number, name: string) => ({
    code: 429,
    message: `limit of ${count} links being opened${name} reached`,
  })
  t.throws(() => open('192.0.2.1'), tooMany(16, ' from this address'))
  for (let i = 16; i < 2 * MAX_PEERS; i++) open(`192.0.2.${2 + (i >> 3)}`)
  t.throws(() => open('192.0.2.99'), tooMany(128, ''))
  await first.return!()
  open('192.0.2.1')
})

t.test('a stopping server ends its links and rejects new ones with 503', async (t) => {
  const a = await openServer(t, 'a')
  const { link, reasons } = listen(t, a, 'ear')
  await link.settled()
  a.disconnect()
  await waitUntil(() => reasons.length > 1)
  t.strictSame(reasons.slice(0, 2), [
    '503 the service ended the stream',
    '503 the server is stopping',
  ])
})
