import t from 'tap'
import { createNatsBroker } from '../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../adapters/nats/url.ts'
import type { Message } from '../../core/contracts/broker.ts'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { startNats } from '../fixtures/nats.ts'

t.test('a route publishes its requests, alongside routes to services', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  const broker = createNatsBroker({ address: parseNatsUrl(server.url) })
  t.teardown(() => broker.close?.())
  let onMessage: (message: Message) => void
  const received = new Promise<Message>((resolve) => {
    onMessage = resolve
  })
  await broker.subscribe('go.mx.api.orders', (message) => onMessage(message))
  const { send } = await openConfiguredGateway(
    t,
    `
broker: ${server.url}
routes:
  - match: { path: /hooks/orders, method: POST }
    service: orders
    handler: event
    endpoint: paid
  - match: { path: /healthz }
    respond: { body: ok }
`,
  )
  const reply = await send('POST', '/hooks/orders', { 'content-type': 'text/plain' }, 'hi')
  t.equal(reply.status, 200)
  const { id } = JSON.parse(reply.text) as { id: string }
  const { headers, body } = await received
  t.equal(headers['mx-topic'], 'go.mx.api.orders')
  t.match(JSON.parse(Buffer.from(body).toString()), { name: 'paid', id, data: 'hi' })
  t.equal((await send('GET', '/healthz')).text, 'ok')
})
