import { GatewayError } from './errors.ts'

const OUTAGES: readonly number[] = [503, 507]

/** Whether what keeps records or events is away, or full: whoever calls is told, and adapters that notice tell it themselves, once. */
export function isOutage(error: unknown): boolean {
  return error instanceof GatewayError && OUTAGES.includes(error.code)
}
