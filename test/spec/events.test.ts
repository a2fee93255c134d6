// Specification, "Events": the gateway's handler and the receivers of its messages.
import t from 'tap'
import { metadata } from '../../sdk/index.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { openRpcGateway } from '../fixtures/rpc-gateway.ts'
import { createService } from '../fixtures/sdk-services.ts'

interface Received {
  readonly event: { readonly id: string; readonly name: string; readonly data: string }
  readonly topic: readonly [string, boolean]
  readonly source: readonly [string, boolean]
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(
    `${name}: The gateway’s event handler turns an HTTP request on /<topic>/<event> into a message on the message bus.`,
    async (t) => {
      const { origin, broker } = await openRpcGateway(t, [], {
        listener,
        flags: ['--handler=event'],
      })
      const received: Received[] = []
      const service = createService(t, { name: 'billing', broker }).subscribe(
        'go.mx.api.orders',
        (event, ctx) => {
          const topic = metadata.get(ctx, 'Mx-Topic')
          const source = metadata.get(ctx, 'X-Source')
          received.push({ event: event as Received['event'], topic, source })
        },
      )
      await service.start()
      const send = async (path: string, init: RequestInit): Promise<string> => {
        const reply = await fetch(origin + path, { headers: { 'X-Source': 'shop' }, ...init })
        t.equal(reply.status, 200)
        return ((await reply.json()) as { id: string }).id
      }
      const ids = [
        await send('/orders/created', { method: 'POST', body: '{"order":5}' }),
        await send('/orders/item/added?order=5', {}),
      ]
      await send('/other/created', { method: 'POST', body: 'another topic' })
      const last = await send('/orders', { method: 'PUT', body: '' })
      await waitUntil(() => received.length >= 3)
      const topic = ['go.mx.api.orders', true]
      const source = ['shop', true]
      t.match(received, [
        { event: { id: ids[0], name: 'created', data: '{"order":5}' }, topic, source },
        { event: { id: ids[1], name: 'item.added', data: '{"order":["5"]}' }, topic, source },
        { event: { id: last, name: 'event', data: '' }, topic, source },
      ])
      t.equal(received.length, 3)
    },
  )
}
