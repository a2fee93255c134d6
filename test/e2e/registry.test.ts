import t, { type Test } from 'tap'
import { createMxRegistry } from '../../adapters/registry/mx.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  CLIENTS,
  load,
  startGateway as openGateway,
  startGreeter as openGreeter,
  type Running,
  start,
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

async function nodesOf(registry: Registry): Promise<string[]> {
  const services = await registry.getService('go.mx.api.greeter')
  return services.flatMap(({ nodes }) => nodes.map(({ address }) => address)).sort()
}

t.test('serves a service as soon as it is ready', async (t) => {
  const registry = await startRegistry(t)
  const url = await startGateway(t, registry)
  t.equal((await fetch(url)).status, 404)
  await startGreeter(t, registry)
  await eventually(async () => (await fetch(url)).status === 200)
})

t.test('a stopping service loses no request, a killed one its requests in flight', async (t) => {
  const registry = await startRegistry(t)
  const url = await startGateway(t, registry)
  const [stays, stops] = [await startGreeter(t, registry), await startGreeter(t, registry)]
  const { failures, heard, by, more, round, stop } = load(t, url)
  await heard(stays, stops)
  stops.child.kill('SIGTERM')
  t.equal(await stops.ended, 0)
  const answered = by(stops)
  await more(200)
  t.same(failures, [])
  t.equal(by(stops), answered, 'a stopped service receives no calls')
  t.same(await nodesOf(open(t, registry)), [stays.address], 'its node is removed from the registry')
  const dies = await startGreeter(t, registry)
  await heard(stays, dies)
  dies.child.kill('SIGKILL')
  await dies.ended
  // Requests in flight have ended.
  await round()
  const lost = failures.length
  t.ok(lost <= CLIENTS, `${lost} were in flight`)
  t.ok(failures.every((failure) => failure.startsWith('502 ')))
  await more(1000)
  await stop()
  t.equal(failures.length, lost, 'no failure afterwards')
})

t.test('a registry that dies and restarts empty loses no request', async (t) => {
  const first = await startRegistry(t)
  const [url, ...services] = await Promise.all([
    startGateway(t, first),
    startGreeter(t, first),
    startGreeter(t, first),
  ])
  const { failures, heard, more, stop } = load(t, url)
  await heard(...services)
  first.child.kill('SIGKILL')
  await first.ended
  await more(200)
  await heard(...services)
  const second = await startRegistry(t, first.address)
  const startedMs = performance.now()
  const registry = open(t, second)
  await eventually(async () => (await nodesOf(registry)).length === 2)
  t.ok(performance.now() - startedMs < 25_000, 'before the next heartbeat')
  t.same(await nodesOf(registry), services.map(({ address }) => address).sort())
  await more(200)
  await heard(...services)
  const third = await startGreeter(t, second)
  await heard(third)
  await stop()
  t.same(failures, [])
})
