/** Variable the processes of a gateway that share its port are told by how many they are. */
export const WORKER_COUNT_VARIABLE = 'MX_WORKER_COUNT'

/** How many processes share what one machine is given; 1 where nothing was said. */
export function readWorkerCount(env: Readonly<Record<string, string | undefined>>): number {
  const count = Number(env[WORKER_COUNT_VARIABLE])
  return Number.isInteger(count) && count > 1 ? count : 1
}
