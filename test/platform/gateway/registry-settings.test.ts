// Settings of services in the registry, and settings in the file for services that are only in the registry.
import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import type { Service } from '../../../core/contracts/registry.ts'
import { createLog } from '../../../platform/process/log.ts'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { makeService } from '../../fixtures/services.ts'

/** Responds with `Host`; never to `/slow`. */
async function openBackend(t: Test): Promise<string> {
  const port = await listenHttp(t, (request, reply) => {
    if (!request.url!.endsWith('/slow')) reply.end(request.headers.host)
  })
  return `127.0.0.1:${port}`
}

t.test('settings of the registry apply, and settings of mx.yaml take precedence', async (t) => {
  const node = await openBackend(t)
  const registry = createMemoryRegistry()
  const register = (metadata: Record<string, string>): unknown => {
    const service: Service = { ...makeService('go.mx.api.shop', [node]), metadata }
    return registry.register!(service)
  }
  const warnings: object[] = []
  const log = createLog('silent')
  log.warn = (details: object, message?: string) => warnings.push({ ...details, message })
  await register({
    handler: 'proxy',
    'mx/timeout.response': '50ms',
    'mx/host_header': 'backend',
    'mx/keep_alive': 'soon',
    'mx/tls': 'insecure',
  })
  const { send, reload } = await openConfiguredGateway(t, 'balance: p2c', { registry, log })
  t.equal((await send('GET', '/shop/slow')).status, 504)
  t.equal((await send('GET', '/shop/', { host: 'public' })).text, node)
  const problems = [
    {
      service: 'go.mx.api.shop',
      key: 'mx/keep_alive',
      message: /mx\/keep_alive must be a duration/,
    },
    {
      service: 'go.mx.api.shop',
      key: 'mx/tls',
      message: /mx\/tls is only allowed in mx\.yaml/,
    },
  ]
  t.match(warnings, problems)
  t.equal(warnings.length, 2)

  await register({
    handler: 'proxy',
    'mx/timeout.response': '30s',
    'mx/host_header': 'shop.internal',
    'mx/tls': 'insecure',
  })
  t.equal(
    (await send('GET', '/shop/', { host: 'public' })).text,
    'shop.internal',
    'a changed entry',
  )
  t.equal(warnings.length, 2, 'a known problem is not repeated')

  await reload('services: { shop: { timeout: { response: 50ms }, host: client } }')
  t.equal((await send('GET', '/shop/slow')).status, 504)
  t.equal((await send('GET', '/shop/', { host: 'public' })).text, 'public')
  await reload('services: { shop: { host: own.internal } }')
  t.equal(
    (await send('GET', '/shop/')).text,
    'own.internal',
    'a service that is only in the registry',
  )
  await reload('balance: p2c')
  t.equal((await send('GET', '/shop/')).text, 'shop.internal')
  await register({ handler: 'proxy' })
  t.equal((await send('GET', '/shop/', { host: 'public' })).text, 'public')
})

t.test('plugins and timeouts of mx.yaml apply to a service of the registry', async (t) => {
  const registry = createMemoryRegistry()
  await registry.register!(makeService('go.mx.api.shop', [await openBackend(t)]))
  const { send } = await openConfiguredGateway(
    t,
    'services: { shop: { timeout: { request: 50ms }, plugins: [ headers: { reply: { set: { x-a: b } } } ] } }',
    { registry },
  )
  t.equal((await send('GET', '/shop/')).headers['x-a'], 'b')
  t.equal((await send('GET', '/shop/slow')).status, 504)
})

t.test(
  'policies of the registry apply immediately, and policies of mx.yaml precede them',
  async (t) => {
    const port = await listenHttp(t, (_request, reply) => {
      reply.writeHead(500).end()
    })
    const registry = createMemoryRegistry()
    const register = (policies: string): unknown => {
      const metadata = { handler: 'proxy', 'mx/policies': policies }
      return registry.register!({
        ...makeService('go.mx.api.shop', [`127.0.0.1:${port}`]),
        metadata,
      })
    }
    await register('{"breaker":{"min_requests":2,"open":"1h"}}')
    const { send, reload } = await openConfiguredGateway(t, 'balance: p2c', { registry })
    const statuses = async () => {
      const results = []
      for (let i = 0; i < 4; i++) results.push((await send('GET', '/shop/')).status)
      return results
    }
    t.strictSame(await statuses(), [500, 500, 503, 503])
    await register('{"breaker":{"min_requests":3,"open":"1h"}}')
    t.strictSame(await statuses(), [500, 500, 500, 503])
    await reload('services: { shop: { breaker: off } }')
    t.strictSame(await statuses(), [500, 500, 500, 500])
  },
)
