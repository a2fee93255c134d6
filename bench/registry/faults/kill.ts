import { setTimeout as wait } from 'node:timers/promises'
import { type Figure, toFailures } from '../figures.ts'
import { CONNECTIONS, startLoad } from '../load.ts'
import type { FaultOptions } from '../options.ts'
import { readLines } from '../processes/programs.ts'
import { onStage, startConsul, toText } from '../stage.ts'

const NODES = 3

/** Kills one of three nodes under load. Its registry entry remains. */
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
      const retryLoad = startLoad(stage.url, rate)
      // Includes a retry of the node after its ejection time of 10 s.
      await wait(11_000 + seconds * 1000)
      const recoveryResult = await retryLoad.stop()
      const last = readLines(program).at(-1) as { inFlight: number; killedMs: number }
      const ejections = readLines(stage.gateway.program).filter(
        ({ msg }) => msg === 'node ejected after failures',
      )
      const ejectedMs = Date.parse(String(ejections[0]?.['time']))
      const nodes = new Set(ejections.map(({ node }) => node))
      return [
        {
          label: 'calls in progress at the node, without calls in its socket',
          value: last.inFlight,
          unit: 'requests',
        },
        toFailures('failed requests', result, CONNECTIONS),
        toFailures('failed requests from one second after its termination', recoveryResult, 0),
        {
          label: 'from its termination until its ejection',
          value: ejectedMs - last.killedMs,
          unit: 'ms',
          atMost: 1000,
        },
        { label: 'ejected nodes', value: nodes.size, unit: 'nodes', atMost: 1, least: 1 },
        { label: 'latency, p99', value: result.latency.p99, unit: 'ms' },
      ]
    })
  } finally {
    await agent.stop()
  }
}
