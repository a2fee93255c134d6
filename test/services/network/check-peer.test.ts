import t from 'tap'
import type { Introduction } from '../../../core/network/handshake.ts'
import { createPeerCheck } from '../../../services/network/check-peer.ts'
import { until } from '../../contracts/registry.ts'
import { openEgress } from '../../fixtures/egress.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'
import { openServer } from '../../fixtures/server.ts'

const egress = openEgress({ resolve: async () => ['192.0.2.7'] })

async function check(address: string, from: string) {
  const { log, lines } = createQuietLog('network')
  const peer = { id: 'b', address } as Introduction
  const checked = await createPeerCheck(egress, log)(peer, from)
  return { address: checked.address, lines }
}

t.test('a server is linked back where its link comes from, by address', async (t) => {
  t.match(await check('mx://192.0.2.7:8081', '192.0.2.7'), { address: 'mx://192.0.2.7:8081' })
  t.match(await check('mxs://b.test:8081', '192.0.2.7'), { address: 'mxs://192.0.2.7:8081' })
  t.match(await check('mx://127.0.0.1:8081', '127.0.0.1'), { address: 'mx://127.0.0.1:8081' })
  t.match(await check('mx://[2001:db8::7]:1', '2001:db8::7'), { address: 'mx://[2001:db8::7]:1' })
  t.match(await check('', '192.0.2.7'), { address: '' })
})

t.test('no link goes to any other address, and the log says why', async (t) => {
  for (const address of ['mx://169.254.169.254:80', 'mx://192.0.2.8:8081', 'mx://127.0.0.1:6379']) {
    const { lines, ...checked } = await check(address, '192.0.2.7')
    t.equal(checked.address, '')
    t.match(lines[0], /server address .* is denied by the outgoing address policy/)
  }
})

t.test('a server without a network token does not link where strangers send it', async (t) => {
  const one = await openServer(t)
  const near = await openServer(t, [`--network_nodes=${one.proxy}`, '--server_id=near'])
  const nodes = `--network_nodes=${one.proxy}`
  await openServer(t, [nodes, '--server_id=far', '--advertise_address=169.254.169.254:80'])
  const read = async () => (await one.get('/network/status')).body
  await until(async () => (await read()).listeners.length === 2, 10_000)
  const { links } = await read()
  t.same(
    links.map(({ address }: { address: string }) => address),
    [`mx://${near.proxy}`],
  )
})
