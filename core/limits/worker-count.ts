/** Environment variable with the number of processes that share the gateway's port. */
export const WORKER_COUNT_VARIABLE = 'MX_WORKER_COUNT'

/** Returns the number of processes that share the machine's limits. @default 1 */
export function readWorkerCount(env: Readonly<Record<string, string | undefined>>): number {
  const count = Number(env[WORKER_COUNT_VARIABLE])
  return Number.isInteger(count) && count > 1 ? count : 1
}
