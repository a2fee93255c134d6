import t, { type Test } from 'tap'
import type { Registry } from '../../../../core/contracts/registry.ts'
import { ServiceCache } from '../../../../core/registry/service-cache.ts'
import { openRpcProxy, type RpcProxy } from '../../../../platform/rpc-proxy/rpc-proxy.ts'
import { findLocalCaller } from '../../../../sdk/internal/local-services.ts'
import { createDispatcher } from '../../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { testCalls } from '../../../contracts/calls.ts'
import { openRawBackend, waitUntil } from '../../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../../fixtures/rpc.ts'
import {
  createTestPool,
  openCaller,
  openPort,
  openProxy,
  toNode,
} from '../../../fixtures/rpc-proxy.ts'
import {
  createQuietLog,
  createService,
  openClient,
  openRegistry,
} from '../../../fixtures/sdk-services.ts'

const FORMS = ['mx', 'http'] as const

for (const to of FORMS) {
  for (const from of FORMS) {
    t.test(`forwards calls from ${to} to ${from}`, async (t) => {
      const isFast = to === 'mx' && from === 'mx'
      testCalls(t, {
        async open(t, dispatch) {
          const { port } = await openPort(t, dispatch)
          const proxy = await openProxy(t, { helloworld: [toNode(port, from)] })
          return openCaller(t, proxy.port, to)
        },
        isFast,
        // One window on either side of the proxy, or the socket buffers of this machine for the HTTP transport.
        maxBuffered: isFast ? 1050 : 40_000,
      })
    })
  }
}

t.test('serves calls of a hosted service', async (t) => {
  testCalls(t, {
    async open(t, dispatch) {
      const proxy = await openProxy(t, {})
      const { log } = createQuietLog()
      proxy.add({ ...createDispatcher({ service: 'helloworld', log }), dispatch })
      return openCaller(t, proxy.port, 'mx')
    },
    isFast: true,
    maxBuffered: 525,
  })
})

t.test('uses the client address of a trusted gateway for services that need it', async (t) => {
  let isTrusted = true
  const proxy = await openProxy(t, {}, { isTrusted: () => isTrusted })
  const addresses: string[] = []
  for (const service of ['auth', 'store'])
    proxy.add({
      ...createDispatcher({ service, log: createQuietLog().log }),
      dispatch(call, address = '') {
        addresses.push(address)
        call.reply('', '{}')
      },
    })
  const caller = openCaller(t, proxy.port, 'mx')
  const callService = async (service: string, metadata: string) => {
    const call = new RecordedCall({ service, metadata })
    caller.call(call)
    await waitUntil(() => call.events.length > 0)
    return addresses.at(-1)
  }
  const addressHeader = 'mx-address: 192.0.2.7\r\n'
  t.equal(await callService('auth', addressHeader), '192.0.2.7')
  t.equal(await callService('auth', 'mx-address: 2001:db8::1\r\n'), '2001:db8::1')
  for (const metadata of ['', 'mx-address: x\r\n', `${addressHeader}mx-address: 192.0.2.8\r\n`])
    t.equal(await callService('auth', metadata), '127.0.0.1', metadata)
  t.equal(await callService('store', addressHeader), '127.0.0.1')
  isTrusted = false
  t.equal(await callService('auth', addressHeader), '127.0.0.1')
})

async function openPlatform(t: Test): Promise<{ registry: Registry; proxy: RpcProxy }> {
  const registry = openRegistry(t)
  const options = { createPool: createTestPool, findCaller: findLocalCaller }
  const directory = new ServiceCache(registry, { upstream: () => options })
  const proxy = await openRpcProxy({
    address: { host: '127.0.0.1', port: 0 },
    find: (service) => directory.find(service),
    log: createQuietLog('proxy').log,
  })
  t.teardown(async () => {
    await proxy.close()
    directory.close()
  })
  return { registry, proxy }
}

/** An endpoint that returns its name, and the number of its calls. */
function named(name: string) {
  const stats = { calls: 0 }
  const where = endpoint({
    handle() {
      stats.calls++
      return name
    },
  })
  return { stats, where }
}

t.test('serves local and remote services by name at one address', async (t) => {
  const { registry, proxy } = await openPlatform(t)
  const own = named('own')
  const other = named('other')
  const hosted = { registry, name: 'own', host: proxy }
  await createService(t, hosted).handle('A', { where: own.where }).start()
  await createService(t, { registry, name: 'other' }).handle('A', { where: other.where }).start()
  const client = openClient(t, { address: proxy.address })
  for (const name of ['own', 'other']) t.equal(await client.call(name, 'A.Where'), name)
  await t.rejects(client.call('unknown', 'A.Where'), {
    code: 404,
    id: 'unknown',
    message: 'service not found: unknown',
  })
  for (const service of ['own', 'other']) {
    const reply = await fetch(`http://${proxy.address}`, {
      method: 'POST',
      headers: { 'mx-service': service, 'mx-endpoint': 'A.Where' },
    })
    t.equal(await reply.json(), service)
  }
  t.strictSame([own.stats.calls, other.stats.calls], [2, 2])
})

t.test('returns 400 for an HTTP request without a service name', async (t) => {
  const { proxy } = await openPlatform(t)
  for (const headers of [{}, { 'mx-service': '' }, { 'mx-service': ' ' }]) {
    const reply = await fetch(`http://${proxy.address}`, { method: 'POST', headers })
    t.equal(reply.status, 400)
    t.match(await reply.json(), { Id: 'go.mx.proxy', Code: 400, Detail: /^service name is blank/ })
  }
})

t.test('routes calls to another node without losses when a hosted service stops', async (t) => {
  const { registry, proxy } = await openPlatform(t)
  const first = named('first')
  const second = named('second')
  const stoppingService = createService(t, { registry, host: proxy }).handle('A', {
    where: first.where,
  })
  await stoppingService.start()
  await createService(t, { registry }).handle('A', { where: second.where }).start()
  const client = openClient(t, { address: proxy.address })
  const responses: Promise<unknown>[] = []
  const stopped = waitUntil(() => first.stats.calls >= 20).then(() => stoppingService.stop())
  let isStopped = false
  stopped.then(
    () => (isStopped = true),
    () => {},
  )
  while (!isStopped) {
    responses.push(client.call('greeter', 'A.Where', {}, { retries: 0 }))
    await new Promise(setImmediate)
  }
  responses.push(client.call('greeter', 'A.Where', {}, { retries: 0 }))
  const names = await Promise.all(responses)
  t.equal(names.at(-1), 'second')
  t.strictSame(new Set(names), new Set(['first', 'second']))
})

t.test('rejects a second service of the same name', async (t) => {
  const { registry, proxy } = await openPlatform(t)
  const { where } = named('a')
  const service = createService(t, { registry, host: proxy }).handle('A', { where })
  await service.start()
  await t.rejects(createService(t, { registry, host: proxy }).start(), {
    message: `${proxy.address} already serves a service greeter`,
  })
  const client = openClient(t, { address: proxy.address })
  t.equal(await client.call('greeter', 'A.Where'), 'a', 'the first service continues to serve')
  await service.stop()
  await createService(t, { registry, host: proxy }).handle('A', { where }).start()
  t.equal(
    await client.call('greeter', 'A.Where'),
    'a',
    'the service is available until it has stopped',
  )
})

t.test('reports a port in use with a one-line message', async (t) => {
  const { port } = await openRawBackend(t)
  await t.rejects(openProxy(t, {}, { address: { host: '127.0.0.1', port } }), {
    message: `cannot listen on 127.0.0.1:${port}: the port is already in use`,
  })
})
