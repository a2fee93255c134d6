import type { GatewayStats } from '../../gateway/types.ts'
import { readGateway } from './read-gateway.ts'
import { readProcessMetrics } from './read-process.ts'
import type { Metric } from './samples.ts'

/** Reads the metrics of a gateway and of its process. */
export async function readAll(measured: GatewayStats): Promise<readonly Metric[]> {
  return [...readGateway(measured), ...(await readProcessMetrics())]
}
