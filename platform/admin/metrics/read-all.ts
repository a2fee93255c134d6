import type { GatewayStats } from '../../gateway/gateway-server.ts'
import { readGateway } from './read-gateway.ts'
import { readProcess } from './read-process.ts'
import type { Metric } from './samples.ts'

/** What there is to tell of a gateway, and of the process that it runs in. */
export async function readAll(measured: GatewayStats): Promise<readonly Metric[]> {
  return [...readGateway(measured), ...(await readProcess())]
}
