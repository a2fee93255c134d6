import { oneOf, single } from '../../../lib/values/value.ts'
import { CLIENT_RANGES } from '../parse/client-filter.ts'
import type { SettingTable } from '../setting.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Log levels from most to least severe. */
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogSettings {
  readonly logLevel: LogLevel
  /** `on` for standard output, `off` for no log, otherwise a file. */
  readonly accessLog: string
  readonly serverTiming: 'any' | readonly string[]
  readonly tracingTrust: 'any' | readonly string[]
}

export const LOG_SETTINGS: SettingTable<LogSettings> = {
  logLevel: {
    ...oneOf(LOG_LEVELS, 'level'),
    name: 'log_level',
    description: `Minimum severity of the log: ${LOG_LEVELS.join(', ')}`,
    default: 'info',
    live: true,
  },
  accessLog: {
    ...single('on, off or file', 'on, off or a file', (text, reject) => {
      const word = text.trim().toLowerCase()
      if (word === '') throw reject()
      if (word === 'on' || word === 'true') return 'on'
      return word === 'off' || word === 'false' ? 'off' : text
    }),
    name: 'access_log',
    description: 'Access log, one JSON line per request, on standard output or in a file',
    default: 'on',
    live: true,
  },
  serverTiming: {
    ...CLIENT_RANGES,
    name: 'server_timing',
    description:
      'Clients that receive the time spent in gateway and backend in the Server-Timing header, such as loopback',
    default: 'off',
    live: true,
  },
  tracingTrust: {
    ...CLIENT_RANGES,
    name: 'tracing_trust',
    description:
      'Clients whose trace context is trusted if OTEL_EXPORTER_OTLP_ENDPOINT is set; requests from other clients start a new trace',
    default: 'loopback,private,unix',
    live: true,
  },
}
