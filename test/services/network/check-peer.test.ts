import t from 'tap'
import type { Introduction } from '../../../domain/mesh/handshake.ts'
import { createPeerCheck } from '../../../services/network/check-peer.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { openEgress } from '../../fixtures/egress.ts'
import { findServer, openServer as openPeer } from '../../fixtures/network.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'
import { openServer } from '../../fixtures/server.ts'

const egress = openEgress({ resolve: async () => ['192.0.2.7'] })

async function check(address: string, from: string, isTrusted = false) {
  const { log, lines } = createQuietLog('network')
  const peer = { id: 'b', address } as Introduction
  const checked = await createPeerCheck(egress, log, isTrusted)(peer, from)
  return { address: checked.address, resolved: checked.resolved, lines }
}

t.test('without a token a server may advertise the address that its link comes from', async (t) => {
  t.match(await check('mx://192.0.2.7:8081', '192.0.2.7'), { address: 'mx://192.0.2.7:8081' })
  t.match(
    await check('mxs://b.test:8081', '192.0.2.7'),
    { address: 'mxs://b.test:8081', resolved: ['192.0.2.7'] },
    'retains the name, which the certificate is for, and pins the checked address',
  )
  t.match(await check('mx://127.0.0.1:8081', '127.0.0.1'), { address: 'mx://127.0.0.1:8081' })
  t.match(await check('mx://[2001:db8::7]:1', '2001:db8::7'), { address: 'mx://[2001:db8::7]:1' })
  t.match(await check('', '192.0.2.7'), { address: '' })
})

t.test('any other advertised address is not linked, and the policy is logged', async (t) => {
  for (const address of ['mx://169.254.169.254:80', 'mx://192.0.2.8:8081', 'mx://127.0.0.1:6379']) {
    const { lines, ...checked } = await check(address, '192.0.2.7')
    t.equal(checked.address, '')
    t.match(lines[0], /server address .* is denied by the outgoing address policy/)
  }
})

t.test(
  'a server that knows the token may advertise another public or private address',
  async (t) => {
    const advertised = 'mx://192.0.2.8:8081'
    t.equal((await check(advertised, '192.0.2.7', true)).address, advertised)
    t.equal((await check('mx://10.0.0.8:8081', '192.0.2.7', true)).address, 'mx://10.0.0.8:8081')
    for (const address of ['mx://169.254.169.254:80', 'mx://127.0.0.1:6379', 'mx://0.0.0.0:80']) {
      const { lines, ...checked } = await check(address, '192.0.2.7', true)
      t.equal(checked.address, '')
      t.match(lines[0], /server address .* is denied by the outgoing address policy/)
    }
  },
)

t.test('the link back and calls connect to the address that was checked', async (t) => {
  const local = openEgress({ registerAllow: ['loopback'], resolve: async () => ['127.0.0.1'] })
  const a = await openPeer(t, 'a', { egress: local })
  const first = await openPeer(t, 'b')
  await first.close()
  const port = Number(first.address.split(':')[1])
  // Names in `.test` never resolve (RFC 6761 §6.2).
  const advertise = `mx://b.test:${port}`
  const b = await openPeer(t, 'b', { port, advertise, nodes: [a.address] })
  await b.serve('greeter')
  await waitUntil(async () => (await a.status()).links[0]?.state === 'linked')
  t.match((await a.status()).links, [{ address: advertise, id: 'b' }])
  t.equal(await findServer(a, 'greeter'), 'b')
  const metadata = { resolved: '127.0.0.1' }
  t.match(a.network.nodes.get('b'), { address: `b.test:${port}`, metadata })
})

t.test(
  'without a network token a peer cannot make the server link to an address of its choice',
  async (t) => {
    const one = await openServer(t)
    const nearServer = await openServer(t, [`--network_nodes=${one.proxy}`, '--server_id=near'])
    const nodes = `--network_nodes=${one.proxy}`
    await openServer(t, [nodes, '--server_id=far', '--advertise_address=169.254.169.254:80'])
    const read = async () => (await one.get('/network/status')).body
    await waitUntil(async () => (await read()).listeners.length === 2, 10_000)
    const { links } = await read()
    t.same(
      links.map(({ address }: { address: string }) => address),
      [`mx://${nearServer.proxy}`],
    )
  },
)
