import t from 'tap'
import { Client } from '../../../sdk/client/client.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Service } from '../../../sdk/service/service.ts'
import { joinHost } from '../../../sdk/service/shared-port.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import {
  createQuietLog,
  createService,
  openClient,
  openRegistry,
} from '../../fixtures/sdk-services.ts'
import { openHost } from '../../fixtures/service-host.ts'

const call = endpoint({ handle: (_request, ctx) => ({ service: ctx.service }) })

t.test('services share a port, and each is registered with its address', async (t) => {
  const host = await openHost(t)
  const registry = openRegistry(t)
  for (const name of ['a', 'b'])
    t.equal(
      await createService(t, { name, registry, host }).handle('A', { call }).start(),
      host.address,
    )
  t.strictSame(host.names(), ['a', 'b'])
  const client = openClient(t, { registry })
  for (const name of ['a', 'b']) {
    t.strictSame(await client.call(name, 'A.Call'), { service: name })
    const [entry] = await registry.getService(name)
    t.match(entry!.nodes, [{ address: host.address, metadata: { server: host.server } }])
  }
})

t.test('stopping a service does not close the shared port', async (t) => {
  const host = await openHost(t)
  const registry = openRegistry(t)
  const [a, b] = ['a', 'b'].map((name) =>
    createService(t, { name, registry, host }).handle('A', { call }),
  )
  await a!.start()
  await b!.start()
  await a!.stop()
  t.strictSame(host.names(), ['b'])
  t.strictSame(await registry.getService('a'), [])
  t.strictSame(await openClient(t, { registry }).call('b', 'A.Call'), { service: 'b' })
})

t.test('stop waits for calls in flight', async (t) => {
  const host = await openHost(t)
  let release: (() => void) | undefined
  const service = createService(t, { host }).handle('A', {
    wait: endpoint({
      handle: () =>
        new Promise<object>((resolve) => {
          release = () => resolve({ late: true })
        }),
    }),
  })
  await service.start()
  const client = new Client({ address: host.address })
  t.teardown(() => client.close())
  const pending = client.call('greeter', 'A.Wait')
  await waitUntil(() => release !== undefined)
  let stopped = false
  const stopping = service.stop().then(() => {
    stopped = true
  })
  await waitUntil(() => host.names().length === 0)
  t.notOk(stopped)
  release!()
  t.strictSame(await pending, { late: true })
  await stopping
})

t.test('a failed start leaves the shared port', async (t) => {
  const host = await openHost(t)
  const registry = { ...openRegistry(t), register: () => Promise.reject(new TypeError('no')) }
  await t.rejects(createService(t, { registry, host }).start(), /cannot register greeter/)
  t.strictSame(host.names(), [])
})

t.test('port options are rejected with a shared port', async (t) => {
  const host = await openHost(t)
  for (const options of [
    { address: ':0' },
    { limits: {} },
    { listener: 'node' as const },
    { origins: [] },
  ])
    t.throws(() => new Service({ name: 'a', host, ...options }), {
      message: `${Object.keys(options)[0]} requires a separate port, but the service a uses a shared one`,
    })
})

t.test('leaving does not close the port, and closing after a drain is allowed', async (t) => {
  const host = await openHost(t)
  const { log } = createQuietLog()
  const port = joinHost(host, createDispatcher({ service: 'a', log }))
  await port.drain()
  await port.close()
  const response = await fetch(`http://${host.address}/nothing`, { method: 'POST' })
  t.equal(response.status, 404)
})
