import type { Outage, OutageState } from '../../core/registry/outage-tracker.ts'
import type { Log } from '../process/log.ts'

/** Logs what became of an outage of the registry; so many `services` in use, if any, are served from memory meanwhile. */
export function logOutage(
  log: Log,
  state: OutageState,
  { reason, forMs }: Outage,
  services: number,
): void {
  const seconds = Math.round(forMs / 1000)
  if (state === 'ended') log.info({ seconds }, 'the registry answers again')
  else {
    const more = state === 'began' ? 'cannot' : 'still cannot'
    const meanwhile = services > 0 ? '; services in use are served from memory' : ''
    log.warn(
      { reason: reason.message, seconds, services },
      `the registry ${more} be asked${meanwhile}`,
    )
  }
}
