import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { openServerProxy, type ServerProxy } from '../../../platform/rpc-proxy/server-proxy.ts'
import { openServerRegistries } from '../../../platform/server/server-registries.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { MemoryAuthSource } from '../../fixtures/auth-source.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'
import { QUIET_FLAGS } from '../../fixtures/server.ts'

t.setTimeout(120_000)

async function open(t: Test, ...args: string[]): Promise<ServerProxy> {
  const flags = readFlags([...QUIET_FLAGS, ...args], 'server')
  const configuration = await configurationFrom(flags, { MX_PROFILE: 'test' }, 'server')()
  const registries = await openServerRegistries('memory', {
    isLocal: () => true,
    onWarning: () => {},
  })
  const log = pino({ level: 'silent' })
  const authorizer = createAuthorizer(new MemoryAuthSource())
  const proxy = await openServerProxy({
    configuration,
    registry: registries.registry,
    domains: registries,
    authorizer,
    fileLimit: 1000,
    log,
  })
  t.teardown(async () => {
    await proxy.close()
    authorizer.close()
    await registries.close()
  })
  return proxy
}

const toText = ({ address }: ServerProxy): string => `${address.host}:${address.port}`

t.test('returns 503 instead of 404 while the server starts', async (t) => {
  const proxy = await open(t)
  const client = openClient(t, { proxy: toText(proxy), retries: 0 })
  await t.rejects(client.call('store', 'Store.Read'), {
    code: 503,
    message: 'the server is starting',
  })
  proxy.begin()
  await t.rejects(client.call('store', 'Store.Read'), { code: 404 })
})

t.test('a drain rejects new calls and waits for calls in flight', async (t) => {
  const proxy = await open(t)
  proxy.begin()
  let release: () => void = () => {}
  let calls = 0
  const slow = createService(t, { name: 'slow', host: proxy.host })
  slow.handle('Slow', {
    wait: endpoint({
      handle() {
        calls++
        return new Promise((resolve) => {
          release = () => resolve({ done: true })
        })
      },
    }),
  })
  await slow.start()
  const client = openClient(t, { proxy: toText(proxy), retries: 0 })
  const call = client.call('slow', 'Slow.Wait')
  await waitUntil(() => calls === 1)
  const drained = proxy.drain()
  await t.rejects(openClient(t, { proxy: toText(proxy), retries: 0 }).call('slow', 'Slow.Wait'), {
    code: 502,
  })
  release()
  t.same(await call, { done: true })
  await drained
})

t.test('aborts calls that exceed drain_timeout', async (t) => {
  const proxy = await open(t, '--drain_timeout=10ms')
  proxy.begin()
  let calls = 0
  const slow = createService(t, { name: 'slow', host: proxy.host })
  slow.handle('Slow', {
    wait: endpoint({
      handle() {
        calls++
        return new Promise(() => {})
      },
    }),
  })
  await slow.start()
  const call = openClient(t, { proxy: toText(proxy), retries: 0 }).call('slow', 'Slow.Wait')
  await waitUntil(() => calls === 1)
  await proxy.drain()
  await Promise.all([t.rejects(call, { code: 503 }), proxy.close()])
})

t.test('registers services at the advertised address', async (t) => {
  const plain = await open(t)
  t.equal(plain.host.address, toText(plain))
  const named = await open(t, '--advertise_address=mx.internal')
  t.equal(named.host.address, `mx.internal:${named.address.port}`)
  t.equal((await open(t, '--advertise_address=[fd00::1]:81')).host.address, '[fd00::1]:81')
})
