import type { Outage, OutageState } from '../../core/registry/outage-tracker.ts'
import type { Log } from '../process/log.ts'

/**
 * Logs the start, duration and end of a registry outage.
 *
 * @param services number of services served from the cache during the outage.
 */
export function logOutage(
  log: Log,
  state: OutageState,
  { reason, durationMs }: Outage,
  services: number,
): void {
  const seconds = Math.round(durationMs / 1000)
  if (state === 'ended') log.info({ seconds }, 'registry available again')
  else {
    const still = state === 'started' ? '' : ' still'
    const cached = services > 0 ? '; services in use are served from the cache' : ''
    log.warn({ reason: reason.message, seconds, services }, `registry${still} unavailable${cached}`)
  }
}
