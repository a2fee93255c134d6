import t, { type Test } from 'tap'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'

async function openNode(t: Test) {
  const node = { status: 500, count: 0, port: 0 }
  node.port = await listenHttp(t, (_request, reply) => {
    node.count++
    reply.writeHead(node.status).end()
  })
  return node
}

const BREAKER = 'breaker: { min_requests: 4, open: 300ms, half_open: 2 }, outlier: off, retry: off'

t.test('a failing service gets no requests while its circuit breaker is open', async (t) => {
  const node = await openNode(t)
  const { send } = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: ['127.0.0.1:${node.port}'], ${BREAKER} } }`,
  )
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await send('GET', '/shop/')).status)
  t.strictSame(statuses, [500, 500, 500, 500, 503, 503])
  t.equal(node.count, 4)
  const reply = await send('GET', '/shop/')
  t.match(reply.headers, { 'retry-after': '1' })
  t.match(JSON.parse(reply.text).Detail, /^the circuit breaker of go.mx.api.shop is open/)
  node.status = 200
  let status = 503
  while (status === 503) ({ status } = await send('GET', '/shop/'))
  t.equal(status, 200)
  for (let i = 0; i < 5; i++) t.equal((await send('GET', '/shop/')).status, 200)
})

t.test('a failing node gets no requests while other nodes respond', async (t) => {
  const [bad, healthy] = [await openNode(t), await openNode(t)]
  healthy.status = 200
  const { send } = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: ['127.0.0.1:${bad.port}', '127.0.0.1:${healthy.port}'], ${BREAKER.replace('300ms', '1h')}, balance: hash:header:x } }`,
  )
  const get = async (key: number) => (await send('GET', '/shop/', { x: `${key}` })).status
  let failed = 0
  for (let i = 0; i < 60; i++) if ((await get(i)) === 500) failed++
  t.equal(failed, 4)
  t.equal(bad.count, 4)
})

t.test('off disables the circuit breaker of the gateway for a service', async (t) => {
  const node = await openNode(t)
  const { send } = await openConfiguredGateway(
    t,
    `breaker: { min_requests: 1 }
services: { shop: { nodes: ['127.0.0.1:${node.port}'], breaker: off } }`,
  )
  for (let i = 0; i < 5; i++) t.equal((await send('GET', '/shop/')).status, 500)
})
