import { setTimeout as wait } from 'node:timers/promises'
import { type Figure, toFailures } from '../figures.ts'
import { startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import { startDelayProxy } from '../processes/delay-proxy.ts'
import { onStage, startConsul, toText } from '../stage.ts'
import { measureChanges } from './changes.ts'

const NODES = 3

/** Delays Consul responses to the gateway, but not to services. Stops one of the services during the delay. */
export async function measureSlow({
  rate,
  seconds,
  delayMs,
}: FaultOptions): Promise<readonly Figure[]> {
  const agent = await startConsul()
  const proxy = await startDelayProxy(agent.port, delayMs)
  const options = {
    registry: toText(agent),
    gatewayRegistry: toText(proxy),
    services: NODES,
  }
  try {
    return await onStage(options, async (stage) => {
      const load = startLoad(stage.url, rate)
      await wait((seconds * 1000) / 2)
      await stage.services[0]!.program.stop()
      await wait((seconds * 1000) / 2)
      const result = await load.stop()
      return [
        { label: 'the gateway was ready after', value: stage.gateway.readyMs, unit: 'ms' },
        toFailures('failed requests while a node stops', result, 0),
        { label: 'latency, p99', value: result.latency.p99, unit: 'ms' },
        ...(await measureChanges(stage, 3 * delayMs + 1000)),
      ]
    })
  } finally {
    await proxy.close()
    await agent.stop()
  }
}
