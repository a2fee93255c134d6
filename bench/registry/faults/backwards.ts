import { type Figure, toFailures } from '../figures.ts'
import { startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import type { ConsulAgent } from '../processes/consul-agent.ts'
import { KNOWN, onStage, startConsul, toText } from '../stage.ts'
import { measureChanges } from './changes.ts'

const WRITES = 300

/** Replaces Consul with an empty instance whose index is much lower than the last one received by the gateway. */
export async function measureBackwards({ rate }: FaultOptions): Promise<readonly Figure[]> {
  const agent = await startConsul()
  try {
    for (let i = 0; i < WRITES; i++) await agent.call('PUT', `/kv/${i}`, i)
    return await onStage({ registry: toText(agent), services: 2 }, async (stage) => {
      const before = await readIndex(agent)
      const load = startLoad(stage.url, rate)
      await agent.start({ empty: true })
      const after = await readIndex(agent)
      await stage.registry.register!(stage.knownEntry, { ttlSeconds: 600 })
      const changes = await measureChanges(stage, 12_000)
      const result = await load.stop()
      return [
        { label: 'index before', value: before, unit: '' },
        { label: 'index after', value: after, unit: '', atMost: before - 1 },
        toFailures('failed requests', result, 0),
        ...changes,
      ]
    })
  } finally {
    await agent.stop()
  }
}

async function readIndex({ port }: ConsulAgent): Promise<number> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/health/service/${KNOWN}`)
  await reply.arrayBuffer()
  return Number(reply.headers.get('x-consul-index'))
}
