import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import { openConfiguredGateway } from '../../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../../fixtures/listen.ts'
import { makeService, replaceServices } from '../../../fixtures/services.ts'

const CALLER = { id: 'api.Api.Drain', author: 'mx/admin' }
const SHOP = { namespace: 'mx', service: 'shop' }

async function openNode(t: Test, name: string): Promise<string> {
  return `127.0.0.1:${await listenHttp(t, (_request, response) => response.end(name))}`
}

t.test('a drained node stays drained until it is restored, even after a reload', async (t) => {
  const [a, b] = [await openNode(t, 'a'), await openNode(t, 'b')]
  const services = `services: { shop: [${a}, ${b}] }\n`
  const { gateway, send, reload } = await openConfiguredGateway(t, services)
  const { nodes } = gateway
  const sample = async () => {
    const texts = []
    for (let i = 0; i < 6; i++) texts.push((await send('GET', '/shop/x')).text)
    return [...new Set(texts)].sort().join('')
  }
  const states = async () => (await nodes.list(SHOP)).map(({ state }) => state)
  t.same(await states(), ['usable', 'usable'], 'a service without requests is loaded')
  t.equal(await sample(), 'ab')
  t.match(await nodes.list({ ...SHOP, service: '' }), [
    { service: 'go.mx.api.shop', state: 'usable', in_flight: 0, connections: 1 },
    { connections: 1 },
  ])
  const request = { ...SHOP, node: a, force: false }
  t.match(await nodes.drain(request, CALLER), { address: a, state: 'drained' })
  t.match(await nodes.drain(request, CALLER), { state: 'drained' }, 'drained again')
  t.equal(await sample(), 'b')
  await reload(`${services}balance: p2c\n`)
  t.equal(await sample(), 'b')
  await reload('handler: proxy\n')
  await reload(services)
  t.equal(await sample(), 'b', 'after the service was removed')
  t.match(await nodes.restore(request, CALLER), { state: 'usable' })
  t.match(await nodes.restore(request, CALLER), { state: 'usable' }, 'drained again')
  t.equal(await sample(), 'ab')
})

t.test('the last usable node is drained only with force', async (t) => {
  const [a, b] = [await openNode(t, 'a'), await openNode(t, 'b')]
  const { gateway, send } = await openConfiguredGateway(t, `services: { shop: [${a}, ${b}] }\n`)
  const { nodes } = gateway
  const drain = (node: string, force = false) => nodes.drain({ ...SHOP, node, force }, CALLER)
  const results = await Promise.allSettled([drain(a), drain(b)])
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
    'concurrent calls',
  )
  await t.rejects(drain(b), {
    ...{ code: 409, id: CALLER.id },
    message: /^No other node of the service go\.mx\.api\.shop is usable: drain .* with force/,
  })
  await t.rejects(drain('10.0.0.9:80'), { code: 404, message: /Nodes of the service shop: / })
  t.equal((await drain(b, true)).state, 'drained')
  t.equal((await send('GET', '/shop/x')).status, 503)
})

t.test('drains nodes of the registry, and rejects unknown services', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const [a, b] = [await openNode(t, 'a'), await openNode(t, 'b')]
  await registry.register!(makeService('shop', [a, b]))
  const { gateway } = await openConfiguredGateway(t, 'resolver: path\n', { registry })
  const { nodes } = gateway
  await nodes.drain({ ...SHOP, node: a, force: false }, CALLER)
  await replaceServices(registry, [makeService('shop', [b])])
  await replaceServices(registry, [makeService('shop', [a, b])])
  t.match(
    await nodes.list(SHOP),
    [a, b].sort().map((id) => ({ id })),
  )
  t.equal((await nodes.list(SHOP)).find(({ id }) => id === a)?.state, 'drained')
  t.same(await nodes.list({ ...SHOP, service: 'nonesuch' }), [])
  t.same(await nodes.list({ ...SHOP, namespace: 'acme' }), [], 'of another namespace')
})
