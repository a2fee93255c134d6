import { setTimeout as wait } from 'node:timers/promises'
import { type Figure, toFailures } from '../figures.ts'
import { CONNECTIONS, startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import { readLines } from '../processes/programs.ts'
import { onStage, startConsul, toText } from '../stage.ts'

const NODES = 3

/** One of three nodes is killed under load, so that the registry knows of nothing. */
export async function measureKill({ rate, seconds }: FaultOptions): Promise<readonly Figure[]> {
  const agent = await startConsul()
  try {
    return await onStage({ registry: toText(agent), services: NODES }, async (stage) => {
      const load = startLoad(stage.url, rate)
      await wait(seconds * 1000)
      const { program } = stage.services[1]!
      process.kill(program.pid, 'SIGUSR2')
      await wait(1000)
      const result = await load.stop()
      const later = startLoad(stage.url, rate)
      // A trial of the node, which is left out for 10 s, among them.
      await wait(11_000 + seconds * 1000)
      const laterResult = await later.stop()
      const last = readLines(program).at(-1) as { inFlight: number; killedMs: number }
      const ejections = readLines(stage.gateway.program).filter(
        ({ msg }) => msg === 'node ejected after failures',
      )
      const ejectedMs = Date.parse(String(ejections[0]?.['time']))
      const nodes = new Set(ejections.map(({ node }) => node))
      return [
        {
          what: 'calls it was serving, not counting those in its socket',
          value: last.inFlight,
          unit: 'requests',
        },
        toFailures('failed requests', result, CONNECTIONS),
        toFailures('failed requests from a second after its death on', laterResult, 0),
        {
          what: 'from its death until it was left out',
          value: ejectedMs - last.killedMs,
          unit: 'ms',
          most: 1000,
        },
        { what: 'nodes left out', value: nodes.size, unit: 'nodes', most: 1, least: 1 },
        { what: 'latency, p99', value: result.latency.p99, unit: 'ms' },
      ]
    })
  } finally {
    await agent.stop()
  }
}
