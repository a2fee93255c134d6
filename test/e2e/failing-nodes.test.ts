// A node that fails while the other one succeeds, behind a gateway with default settings.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'

/** @param getStatus status of a path */
async function openNode(t: Test, getStatus: (path: string) => number): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(getStatus(url)).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const listener of ['uws', 'node']) {
  t.test(`${listener}: a node that responds with 500 to every request is ejected`, async (t) => {
    const nodes = [await openNode(t, () => 500), await openNode(t, () => 200)]
    const { send } = await openConfiguredGateway(t, `services: { shop: [${nodes.join(', ')}] }`, {
      listener,
    })
    const statuses: number[] = []
    for (let i = 0; i < 40; i++) statuses.push((await send('GET', '/shop/a')).status)
    t.equal(statuses.filter((status) => status === 500).length, 5)
    t.notOk(statuses.slice(12).includes(500))
  })

  t.test(`${listener}: a path that fails on all nodes ejects no node`, async (t) => {
    const getStatus = (path: string) => (path.includes('broken') ? 503 : 200)
    const nodes = [await openNode(t, getStatus), await openNode(t, getStatus)]
    const { send } = await openConfiguredGateway(t, `services: { shop: [${nodes.join(', ')}] }`, {
      listener,
    })
    for (let i = 0; i < 20; i++) await send('GET', '/shop/broken')
    const replies = await Promise.all(Array.from({ length: 20 }, () => send('GET', '/shop/works')))
    t.ok(replies.every(({ status }) => status === 200))
    t.equal((await send('GET', '/shop/broken')).status, 503)
  })
}
