import t from 'tap'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'

const echo = endpoint({ handle: (request, ctx) => ({ request, tenant: ctx.fields[1] ?? '' }) })

t.test('a proxy has the names of handlers and endpoints of the declaration', async (t) => {
  const service = createService(t).handle('helloworld', {
    call: echo,
    Shout: echo,
    count: endpoint({ stream: 'server', handle: () => [1, 2] }),
    sum: endpoint({ stream: 'client', handle: async () => 5 }),
  })
  const client = openClient(t, { services: [service] })
  const { helloworld } = client.service<typeof service>('greeter')
  t.strictSame(await helloworld.call(1), { request: 1, tenant: '' })
  t.strictSame(await helloworld.Shout(2), { request: 2, tenant: '' })
  t.strictSame(await helloworld.count.stream({}).next(), { done: false, value: 1 })
  t.strictSame(await helloworld.sum.stream([1]).reply(), 5)
  t.equal(helloworld.call, helloworld.call, 'the function is created once')
})

t.test('options apply to all calls, and options of a call override them', async (t) => {
  const service = createService(t).handle('A', { b: echo })
  const client = openClient(t, { services: [service] })
  const { A } = client.service<typeof service>('greeter', { metadata: { 'x-tenant': 'acme' } })
  t.match(await A.b(1), { tenant: 'acme' })
  t.match(await A.b(1, { metadata: { 'x-tenant': 'globex' } }), { tenant: 'globex' })
  t.match(await A.b(1, { timeoutMs: 50 }), { tenant: 'acme' })
  const { nope } = client.service<{ nope: { such: typeof echo } }>('greeter')
  await t.rejects(nope.such(1), { code: 404, message: 'endpoint not found: greeter.Nope.Such' })
})

t.test('a proxy can be returned by an async function and listed', async (t) => {
  const client = openClient(t, { address: '127.0.0.1:1' })
  const proxy = client.service<{ A: { b: typeof echo } }>('greeter')
  t.equal(await (async () => proxy)(), proxy)
  t.equal(String(Object.keys(proxy)), '')
  t.throws(() => (proxy.A as unknown as Record<string, unknown>)['a-b'], TypeError)
})
