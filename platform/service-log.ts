import { createServiceLog, type ServiceLog } from '../sdk/service-log.ts'
import type { Log } from './log.ts'

const LEVELS = { 20: 'debug', 30: 'debug', 40: 'warn', 50: 'error' } as const

/**
 * The log of a built-in service: its lines go to that of the server, which is one for all. That a service is ready is news
 * for those alone who ask for `debug`.
 */
export function createBuiltInLog(service: string, log: Log): ServiceLog {
  return createServiceLog({
    service,
    level: log.isLevelEnabled('debug') ? 'debug' : 'info',
    write(line) {
      const { level, time: _, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
      log[LEVELS[level as keyof typeof LEVELS] ?? 'error'](fields, String(msg ?? ''))
    },
  })
}
