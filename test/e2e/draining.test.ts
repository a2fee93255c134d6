import t from 'tap'
import { endpoint } from '../../sdk/service/endpoint.ts'
import type { Service } from '../../sdk/service/service.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { openRpcGateway } from '../fixtures/rpc-gateway.ts'
import { createService } from '../fixtures/sdk-services.ts'

const NAME = 'go.mx.api.greeter'

for (const listener of ['uws', 'node'] as const) {
  t.test(
    `${listener}: a service that stops under load loses no call and receives no new one`,
    async (t) => {
      const gateway = await openRpcGateway(t, [])
      const { registry, origin } = gateway
      let release: () => void = () => {}
      const start = async (id: string, blocker?: Promise<void>): Promise<Service<object>> => {
        const service = createService(t, { name: NAME, registry, listener }).handle('Greeter', {
          now: endpoint({ idempotent: false, handle: () => ({ id }) }),
          wait: endpoint({
            idempotent: false,
            async handle() {
              await blocker
              return { id }
            },
          }),
        })
        await service.start()
        return service
      }
      const stoppingNode = await start(
        'leaving',
        new Promise((resolve) => {
          release = resolve
        }),
      )
      await start('staying')

      const call = async (endpoint: string): Promise<string> => {
        const reply = await fetch(`${origin}/greeter/${endpoint}`)
        const text = await reply.text()
        return reply.status === 200 ? (JSON.parse(text) as { id: string }).id : text
      }
      let isNotified = false
      t.teardown(
        registry.watch!(({ service }) => {
          isNotified ||= service.nodes.some(({ metadata }) => metadata['state'] === 'draining')
        }),
      )
      const responses = { before: new Map<string, number>(), after: new Map<string, number>() }
      const getCount = (name: keyof typeof responses): number =>
        [...responses[name].values()].reduce((sum, count) => sum + count, 0)
      let loading = true
      const load = async (): Promise<void> => {
        while (loading) {
          const counts = responses[isNotified ? 'after' : 'before']
          const id = await call('now')
          counts.set(id, (counts.get(id) ?? 0) + 1)
        }
      }
      const loads = Array.from({ length: 20 }, load)
      await waitUntil(() => getCount('before') > 200)

      // Round-robin: every second call goes to the service that will stop.
      const pending = [call('wait'), call('wait'), call('wait'), call('wait')]
      await waitUntil(() => gateway.gateway.inFlight > 0)
      await Promise.race(pending)
      const stopped = stoppingNode.stop()
      await waitUntil(() => isNotified)
      await waitUntil(() => getCount('after') > 500)
      t.equal(
        (await registry.getService(NAME))[0]!.nodes.length,
        2,
        'a draining node stays registered',
      )
      release()
      const ids = await Promise.all(pending)
      t.ok(ids.includes('leaving'), 'calls in flight are completed')
      await stopped
      t.equal((await registry.getService(NAME))[0]!.nodes.length, 1)
      await waitUntil(() => getCount('after') > 700)
      loading = false
      await Promise.all(loads)
      t.same([...responses.before.keys()].sort(), ['leaving', 'staying'])
      t.same([...responses.after.keys()], ['staying'])
      t.same(gateway.ejected, [])
    },
  )
}
