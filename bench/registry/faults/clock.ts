import { setTimeout as wait } from 'node:timers/promises'
import { type Figure, toFailures } from '../figures.ts'
import { startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import { readLines } from '../processes/programs.ts'
import { KNOWN, onStage, startRegistry } from '../stage.ts'

const DAY_MS = 86_400_000
const NODES = 2

/**
 * Sets the wall clocks of gateway, services and registry service a day forward, a day back, and then to the correct
 * time. Consul's clock is unchanged.
 */
export async function measureClock(
  kind: 'consul' | 'mx',
  { rate, seconds }: FaultOptions,
): Promise<readonly Figure[]> {
  const clock = { clock: true }
  const { text, stop, probe } = await startRegistry(kind, clock)
  try {
    return await onStage({ registry: text, services: NODES, ...clock }, async (stage) => {
      const probes = [stage.gateway, ...stage.services].map((program) => program.probe)
      if (probe !== undefined) probes.push(probe)
      const load = startLoad(stage.url, rate)
      await wait(1000)
      let offMs = 0
      for (const jumpMs of [DAY_MS, -DAY_MS, 0]) {
        const samples = await Promise.all(probes.map((each) => each.shift(jumpMs)))
        for (const { dateMs } of samples)
          offMs = Math.max(offMs, Math.abs(dateMs - Date.now() - jumpMs))
        await wait((seconds * 1000) / 2)
      }
      const result = await load.stop()
      const services = await stage.registry.getService(KNOWN)
      const ejections = readLines(stage.gateway.program).filter(({ msg }) => msg !== undefined)
      return [
        {
          label: 'maximum deviation of the clocks from the set time',
          value: offMs,
          unit: 'ms',
          atMost: 1000,
        },
        toFailures('failed requests', result, 0),
        {
          label: 'ejected nodes',
          value: ejections.filter(({ msg }) => String(msg).startsWith('node ejected')).length,
          unit: 'nodes',
          atMost: 0,
        },
        {
          label: 'nodes in the registry afterwards',
          value: services.flatMap(({ nodes }) => nodes).length,
          unit: 'nodes',
          least: NODES,
        },
      ]
    })
  } finally {
    await stop()
  }
}
