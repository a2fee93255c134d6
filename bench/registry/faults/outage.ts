import { setTimeout as wait } from 'node:timers/promises'
import { type Figure, toFailures } from '../figures.ts'
import { startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import { startService } from '../processes/programs.ts'
import { waitForResponse } from '../query.ts'
import { addNode, KNOWN, LATE, onStage, startConsul, toText } from '../stage.ts'

const NODES = 2

/** Stops Consul under load, and restarts it with or without its data. */
export async function measureOutage(
  empty: boolean,
  { rate, seconds, outageSeconds, afterSeconds }: FaultOptions,
): Promise<readonly Figure[]> {
  const agent = await startConsul()
  try {
    return await onStage({ registry: toText(agent), services: NODES }, async (stage) => {
      const newNode = await startService(LATE, '')
      try {
        const load = startLoad(stage.url, rate)
        await wait(seconds * 1000)
        await agent.kill()
        await wait(outageSeconds * 1000)
        await agent.start({ empty })
        const startedMs = performance.now()
        // Requested before the service exists, so that the gateway caches its absence, which then has to expire.
        const lateService = waitForResponse(stage.lateUrl, ({ status }) => status === 200)
        await addNode(stage, LATE, newNode.address)
        const registeredMs = performance.now() - startedMs
        const lateMs = await lateService
        const registered = await untilRegistered(agent.call, NODES, 60_000)
        const recoveredMs = performance.now() - startedMs
        await wait(Math.max(0, afterSeconds * 1000 - recoveredMs))
        const result = await load.stop()
        return [
          toFailures('failed requests of the known service', result, 0),
          { label: 'latency, p99', value: result.latency.p99, unit: 'ms' },
          {
            label: 'from the restart until a new service could be registered',
            value: registeredMs,
            unit: 'ms',
          },
          {
            label: 'from the restart until a new service was reachable',
            value: lateMs,
            unit: 'ms',
            atMost: 15_000,
          },
          {
            label: 'from the restart until the known nodes were registered',
            value: registered ? recoveredMs / 1000 : Number.NaN,
            unit: 's',
            atMost: 35,
          },
        ]
      } finally {
        await newNode.stop()
      }
    })
  } finally {
    await agent.stop()
  }
}

/** Waits until the known service has the specified number of healthy nodes. */
async function untilRegistered(
  call: (method: string, path: string) => Promise<unknown>,
  nodes: number,
  limitMs: number,
): Promise<boolean> {
  const endMs = performance.now() + limitMs
  while (performance.now() < endMs) {
    const list = (await call('GET', `/health/service/${KNOWN}?passing`)) as unknown[]
    if (list.length === nodes) return true
    await wait(50)
  }
  return false
}
