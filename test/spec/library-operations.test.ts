// Specification, "Interface": the table of library-level operations.
import t from 'tap'
import { metadata } from '../../sdk/index.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { openRpcGateway } from '../fixtures/rpc-gateway.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(
    `${name}: | context metadata | Get(ctx, name) returns value and a found flag; Set(ctx, name, value) returns a new context |`,
    async (t) => {
      const { origin, registry } = await openRpcGateway(t, [], { listener })
      const client = openClient(t, { registry })
      const back = createService(t, { name: 'go.mx.api.back', registry }).handle('Back', {
        call: endpoint({ handle: (_request, ctx) => metadata.get(ctx, 'X-Tenant') }),
      })
      const front = createService(t, { name: 'go.mx.api.front', registry }).handle('Front', {
        call: endpoint({
          async handle(_request, ctx) {
            const changed = metadata.set(ctx, 'x-tenant', 'of the front')
            return {
              given: metadata.get(ctx, 'X-Tenant'),
              missing: metadata.get(ctx, 'X-Other'),
              isNew: changed !== ctx,
              changed: metadata.get(changed, 'X-TENANT'),
              removed: metadata.get(metadata.set(changed, 'X-Tenant', ''), 'X-Tenant'),
              passedOn: await client.call(back.name, 'Back.Call', {}, { context: ctx }),
              passedOnChanged: await client.call(back.name, 'Back.Call', {}, { context: changed }),
            }
          },
        }),
      })
      await back.start()
      await front.start()
      const reply = await fetch(`${origin}/front/call`, { headers: { 'X-Tenant': 'acme' } })
      t.strictSame(await reply.json(), {
        given: ['acme', true],
        missing: ['', false],
        isNew: true,
        changed: ['of the front', true],
        removed: ['', false],
        passedOn: ['acme', true],
        passedOnChanged: ['of the front', true],
      })
    },
  )
}
