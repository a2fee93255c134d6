import t, { type Test } from 'tap'
import { createConsulRegistry } from '../../adapters/registry/consul.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { startConsul } from '../fixtures/consul.ts'
import { eventually } from '../fixtures/eventually.ts'
import { CLIENTS, load, type Running, startGateway, startGreeter } from '../fixtures/greeters.ts'

t.setTimeout(120_000)

const NAME = 'go.mx.api.greeter'
const toText = ({ port }: { port: number }): string => `consul://127.0.0.1:${port}`

function open(t: Test, { port }: { port: number }): Registry {
  const registry = createConsulRegistry({ port })
  t.teardown(() => registry.close?.())
  return registry
}

async function nodesOf(registry: Registry): Promise<string[]> {
  const services = await registry.getService(NAME)
  return services.flatMap(({ nodes }) => nodes.map(({ address }) => address)).sort()
}

const addressesOf = (...nodes: Running[]): string[] => nodes.map(({ address }) => address).sort()

t.test(
  'a service in Consul is served, loses no request when it stops, and requests in flight when it is killed',
  async (t) => {
    const agent = await startConsul(t)
    if (agent === undefined) return
    const url = await startGateway(t, toText(agent))
    t.equal((await fetch(url)).status, 404)
    const stays = await startGreeter(t, toText(agent))
    await eventually(async () => (await fetch(url)).status === 200)

    const stops = await startGreeter(t, toText(agent))
    const { failures, heard, by, more, round, stop } = load(t, url)
    await heard(stays, stops)
    stops.child.kill('SIGTERM')
    t.equal(await stops.ended, 0)
    const answered = by(stops)
    await more(200)
    t.same(failures, [])
    t.equal(by(stops), answered, 'a stopped service receives no calls')
    t.same(await nodesOf(open(t, agent)), [stays.address], 'its node is removed from Consul')

    const dies = await startGreeter(t, toText(agent))
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
  },
)

t.test(
  'an outage of Consul loses no request, with its data or with an empty catalog and a lower index',
  async (t) => {
    const agent = await startConsul(t)
    if (agent === undefined) return
    // The index after the restart must be lower than before.
    for (let i = 0; i < 50; i++) await agent.call('PUT', `/kv/${i}`, i)
    const [url, ...services] = await Promise.all([
      startGateway(t, toText(agent)),
      startGreeter(t, toText(agent)),
      startGreeter(t, toText(agent)),
    ])
    const { failures, heard, more, stop } = load(t, url)
    await heard(...services)
    const registry = open(t, agent)
    for (const empty of [false, true]) {
      await agent.kill()
      await more(200)
      await heard(...services)
      await agent.start({ empty })
      await more(200)
      await heard(...services)
      if (!empty) await eventually(async () => (await nodesOf(registry)).length === services.length)
      const late = await startGreeter(t, toText(agent))
      await heard(...services, late)
      // The empty Consul learns the other nodes from their next heartbeats; they are served meanwhile.
      const known = empty ? [late] : [...services, late]
      await eventually(async () => (await nodesOf(registry)).length >= known.length)
      for (const address of addressesOf(...known)) t.ok((await nodesOf(registry)).includes(address))
      services.push(late)
    }
    await stop()
    t.same(failures, [])
  },
)
