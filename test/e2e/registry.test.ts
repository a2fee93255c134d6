import t, { type Test } from 'tap'
import { createMxRegistry } from '../../adapters/registry/mx.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  generateLoad,
  listNodes,
  startGateway as openGateway,
  startGreeter as openGreeter,
  type Running,
  start,
  stopAndKill,
} from '../fixtures/greeters.ts'

t.setTimeout(120_000)

const startRegistry = (t: Test, address = '127.0.0.1:0') =>
  start(t, new URL('../fixtures/registry-process.ts', import.meta.url), {
    MX_SERVICE_ADDRESS: address,
  })

const toText = ({ address }: Running): string => `mx://${address}`
const startGateway = (t: Test, registry: Running) => openGateway(t, toText(registry))
const startGreeter = (t: Test, registry: Running) => openGreeter(t, toText(registry))

function open(t: Test, { address }: Running): Registry {
  const registry = createMxRegistry({ host: '127.0.0.1', port: Number(address.split(':')[1]) })
  t.teardown(() => registry.close?.())
  return registry
}

t.test(
  'a service loses no request when it stops, and only requests in flight when it is killed',
  async (t) => {
    const registry = await startRegistry(t)
    await stopAndKill(t, toText(registry), open(t, registry))
  },
)

t.test('a registry that dies and restarts empty loses no request', async (t) => {
  const first = await startRegistry(t)
  const [url, ...services] = await Promise.all([
    startGateway(t, first),
    startGreeter(t, first),
    startGreeter(t, first),
  ])
  const { failures, waitForNodes, waitForMore, stop } = generateLoad(t, url)
  await waitForNodes(...services)
  first.child.kill('SIGKILL')
  await first.ended
  await waitForMore(200)
  await waitForNodes(...services)
  const second = await startRegistry(t, first.address)
  const startedMs = performance.now()
  const registry = open(t, second)
  await eventually(async () => (await listNodes(registry)).length === 2)
  t.ok(performance.now() - startedMs < 25_000, 'before the next heartbeat')
  t.same(await listNodes(registry), services.map(({ address }) => address).sort())
  await waitForMore(200)
  await waitForNodes(...services)
  const third = await startGreeter(t, second)
  await waitForNodes(third)
  await stop()
  t.same(failures, [])
})
