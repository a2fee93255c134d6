import { createServiceLog, type ServiceLog } from '../../sdk/log/service-log.ts'
import type { Log } from '../process/log.ts'

const LEVELS = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' } as const
/** Messages logged on each start and stop. */
const ROUTINE: readonly unknown[] = ['service ready', 'service stopped', 'subscribed']

/**
 * Creates the log of a built-in service, which writes to the server's log. Start and stop messages
 * are logged at level `debug`.
 */
export function createBuiltInLog(service: string, log: Log): ServiceLog {
  return createServiceLog({
    service,
    level: log.isLevelEnabled('debug') ? 'debug' : 'info',
    write(line) {
      const { level, time: _, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
      const name = ROUTINE.includes(msg) ? 'debug' : LEVELS[level as keyof typeof LEVELS]
      log[name ?? 'error'](fields, String(msg ?? ''))
    },
  })
}
