import type { Figure } from '../figures.ts'
import { startService } from '../processes/programs.ts'
import { untilAnswer } from '../query.ts'
import { enlist, KNOWN, LATE, type Stage } from '../stage.ts'

/** How long changes take to arrive at the gateway: a node of a service in use, and a service that was asked for in vain. */
export async function measureChanges(stage: Stage, most: number): Promise<readonly Figure[]> {
  const [node, late] = [await startService(KNOWN, ''), await startService(LATE, '')]
  try {
    await enlist(stage, KNOWN, node.address)
    const nodeMs = await untilAnswer(stage.url, ({ pid }) => pid === node.program.pid)
    await untilAnswer(stage.lateUrl, ({ status }) => status === 404)
    await enlist(stage, LATE, late.address)
    const lateMs = await untilAnswer(stage.lateUrl, ({ status }) => status === 200)
    return [
      { what: 'until a new node of a known service answered', value: nodeMs, unit: 'ms', most },
      { what: 'until a new service was reachable', value: lateMs, unit: 'ms', most },
    ]
  } finally {
    await Promise.all([node.stop(), late.stop()])
  }
}
