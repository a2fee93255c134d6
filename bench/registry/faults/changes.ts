import type { Figure } from '../figures.ts'
import { startService } from '../processes/programs.ts'
import { waitForResponse } from '../query.ts'
import { addNode, KNOWN, LATE, type Stage } from '../stage.ts'

/**
 * Measures the propagation delay to the gateway, for a node of a service in use and for a service cached as missing.
 */
export async function measureChanges(stage: Stage, limitMs: number): Promise<readonly Figure[]> {
  const [node, lateService] = [await startService(KNOWN, ''), await startService(LATE, '')]
  try {
    await addNode(stage, KNOWN, node.address)
    const nodeMs = await waitForResponse(stage.url, ({ pid }) => pid === node.program.pid)
    await waitForResponse(stage.lateUrl, ({ status }) => status === 404)
    await addNode(stage, LATE, lateService.address)
    const lateMs = await waitForResponse(stage.lateUrl, ({ status }) => status === 200)
    return [
      {
        label: 'until a new node of a known service was used',
        value: nodeMs,
        unit: 'ms',
        atMost: limitMs,
      },
      { label: 'until a new service was reachable', value: lateMs, unit: 'ms', atMost: limitMs },
    ]
  } finally {
    await Promise.all([node.stop(), lateService.stop()])
  }
}
