// Programs that know only the proxy of a platform.
import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import { openRpcProxy, type RpcProxy } from '../../platform/rpc-proxy/rpc-proxy.ts'
import { ServiceError } from '../../sdk/errors.ts'
import { findLocalCaller } from '../../sdk/internal/local-services.ts'
import { createRegistryService } from '../../services/registry/service.ts'
import { eventually } from '../fixtures/eventually.ts'
import { type Running, start } from '../fixtures/greeters.ts'
import { createTestPool } from '../fixtures/rpc-proxy.ts'
import { createQuietLog, openClient } from '../fixtures/sdk-services.ts'

const NAME = 'go.mx.api.greeter'
const CALLERS = 16

/** A proxy that hosts the registry. */
async function openPlatform(t: Test): Promise<RpcProxy> {
  const registry = createMemoryRegistry()
  const upstream = { createPool: createTestPool, findCaller: findLocalCaller }
  const directory = new ServiceCache(registry, { upstream: () => upstream })
  const proxy = await openRpcProxy({
    address: { host: '127.0.0.1', port: 0 },
    find: (service) => directory.find(service),
    log: createQuietLog('proxy').log,
  })
  const { service, close } = createRegistryService({
    createRegistry: () => registry,
    host: proxy,
    log: createQuietLog('registry').log,
  })
  t.teardown(async () => {
    await close()
    await proxy.close()
    directory.close()
  })
  await service.start()
  return proxy
}

function startGreeter(t: Test, { address }: RpcProxy): Promise<Running> {
  return start(t, new URL('../fixtures/greeter-process.ts', import.meta.url), { MX_PROXY: address })
}

/** Continuous callers: results by process, and failures. */
function load(t: Test, { address }: RpcProxy) {
  const client = openClient(t, { proxy: address, retries: 0 })
  const responses = new Map<number, number>()
  const failures: ServiceError[] = []
  let stopped = false
  const call = async (): Promise<void> => {
    while (!stopped) {
      try {
        const { pid } = await client.call<{ pid: number }>(NAME, 'Greeter.Where')
        responses.set(pid, (responses.get(pid) ?? 0) + 1)
      } catch (error) {
        failures.push(error as ServiceError)
      }
    }
  }
  const callers = Array.from({ length: CALLERS }, call)
  const stop = async (): Promise<void> => {
    stopped = true
    await Promise.all(callers)
  }
  t.teardown(stop)
  const countResponses = ({ pid }: Running): number => responses.get(pid) ?? 0
  const received = (...nodes: Running[]): Promise<void> => {
    const before = nodes.map(countResponses)
    return eventually(async () => nodes.every((node, i) => countResponses(node) > before[i]! + 20))
  }
  return { failures, received, stop }
}

t.test('loses no call while services start and stop behind a proxy', async (t) => {
  const proxy = await openPlatform(t)
  const first = await startGreeter(t, proxy)
  const { failures, received, stop } = load(t, proxy)
  await received(first)
  const second = await startGreeter(t, proxy)
  await received(first, second)
  first.child.kill('SIGTERM')
  t.equal(await first.ended, 0)
  await received(second)
  await stop()
  t.strictSame(failures, [])
})

t.test('loses only the calls in flight when a service is killed', async (t) => {
  const proxy = await openPlatform(t)
  const nodes = [await startGreeter(t, proxy), await startGreeter(t, proxy)]
  const { failures, received, stop } = load(t, proxy)
  await received(...nodes)
  nodes[0]!.child.kill('SIGKILL')
  await nodes[0]!.ended
  await received(nodes[1]!)
  await stop()
  t.ok(failures.length <= CALLERS, `${failures.length} of ${CALLERS} callers`)
  for (const error of failures) {
    t.ok(error instanceof ServiceError)
    t.match(error, {
      code: 502,
      id: NAME,
      message: 'bad gateway: the service closed the connection',
    })
  }
})
