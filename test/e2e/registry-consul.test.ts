import t, { type Test } from 'tap'
import { createConsulRegistry } from '../../adapters/registry/consul.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { startConsul } from '../fixtures/consul.ts'
import { eventually } from '../fixtures/eventually.ts'
import {
  generateLoad,
  listNodes,
  type Running,
  startGateway,
  startGreeter,
  stopAndKill,
} from '../fixtures/greeters.ts'

t.setTimeout(120_000)

const toText = ({ port }: { port: number }): string => `consul://127.0.0.1:${port}`

function open(t: Test, { port }: { port: number }): Registry {
  const registry = createConsulRegistry({ port })
  t.teardown(() => registry.close?.())
  return registry
}

const listAddresses = (...nodes: Running[]): string[] => nodes.map(({ address }) => address).sort()

t.test(
  'serves a service in Consul, which loses no request when it stops, and only requests in flight when it is killed',
  async (t) => {
    const agent = await startConsul(t)
    if (agent === undefined) return
    await stopAndKill(t, toText(agent), open(t, agent))
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
    const { failures, waitForNodes, waitForMore, stop } = generateLoad(t, url)
    await waitForNodes(...services)
    const registry = open(t, agent)
    for (const empty of [false, true]) {
      await agent.kill()
      await waitForMore(200)
      await waitForNodes(...services)
      await agent.start({ empty })
      await waitForMore(200)
      await waitForNodes(...services)
      if (!empty)
        await eventually(async () => (await listNodes(registry)).length === services.length)
      const late = await startGreeter(t, toText(agent))
      await waitForNodes(...services, late)
      // The empty Consul discovers the other nodes by their next heartbeats; until then, the gateway still routes to
      // them.
      const nodes = empty ? [late] : [...services, late]
      await eventually(async () => (await listNodes(registry)).length >= nodes.length)
      for (const address of listAddresses(...nodes))
        t.ok((await listNodes(registry)).includes(address))
      services.push(late)
    }
    await stop()
    t.same(failures, [])
  },
)
