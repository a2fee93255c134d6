import { createRequire } from 'node:module'
import type * as Pino from 'pino'
import type { PluginLog } from '../../core/plugin/define.ts'
import { formatLogLine, hasColors, isTerminal, type LogEntry } from '../../lib/log/format-line.ts'
import { guardLog } from '../../lib/log/safe-log.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import { addDetails } from './log-details.ts'

/** Log level. */
export type ServiceLogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Options of a service's log. */
export interface ServiceLogOptions {
  /** Name of the service, on every line. */
  readonly service: string
  /** @default `MX_SERVICE_LOG_LEVEL`, else info */
  readonly level?: ServiceLogLevel
  /** Receives JSON lines with line feeds. @default standard error, formatted on terminals */
  readonly write?: (line: string) => void
}

/** A log line as returned by `Debug.Log`. */
export interface LogRecord {
  /** Seconds since 1970. */
  readonly timestamp: number
  /** Level, time and other fields, as strings. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

/** Log of a service: JSON lines on standard error (formatted on a terminal), and the last lines in memory. */
export interface ServiceLog extends PluginLog {
  /** The last lines, oldest first, at most 256. */
  readonly records: () => LogRecord[]
}

const require = createRequire(import.meta.url)

const STDERR = 2
const MAX_RECORDS = 256
/** Longer lines are truncated. */
const MAX_CHARS = 8192
const LEVELS: Readonly<Record<number, string>> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
}

const ALL_LEVELS: readonly ServiceLogLevel[] = ['debug', 'info', 'warn', 'error', 'silent']

/**
 * Opens the log of a service. Never throws. Lines are written synchronously, so that none are lost when the process
 * exits.
 */
export function createServiceLog(options: ServiceLogOptions): ServiceLog {
  const { service } = options
  const environmentLevel = process.env['MX_SERVICE_LOG_LEVEL'] || 'info'
  const isLevel = (ALL_LEVELS as readonly string[]).includes(environmentLevel)
  const level = options.level ?? (isLevel ? environmentLevel : 'info')
  // Loaded on first use, because clients and plugins have no log.
  const { pino } = require('pino') as typeof Pino
  const write = options.write ?? openStderr(pino)
  const lines: string[] = []
  let next = 0
  const log = pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      ...guardLog(pino.stdSerializers.err),
    },
    {
      write(line: string) {
        lines[next] = line.length > MAX_CHARS ? line.slice(0, MAX_CHARS) : line
        next = (next + 1) % MAX_RECORDS
        write(line)
      },
    },
  )
  if (options.level === undefined && !isLevel)
    log.warn(
      `MX_SERVICE_LOG_LEVEL must be one of ${ALL_LEVELS.join(', ')}, got ${inspectShort(environmentLevel)}: using info`,
    )
  return {
    ...addDetails(log),
    records: () => [...lines.slice(next), ...lines.slice(0, next)].map(toRecord),
  }
}

function openStderr({ destination }: typeof Pino): (line: string) => void {
  const stderr = destination({ dest: STDERR, sync: true })
  if (!isTerminal(STDERR)) return (line) => void stderr.write(line)
  const isColored = hasColors()
  return (line) => void stderr.write(formatLogLine(JSON.parse(line) as LogEntry, isColored))
}

function toRecord(line: string): LogRecord {
  const { level, time, msg, ...details } = parseLine(line)
  const metadata = Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
  return {
    timestamp: Math.floor(Date.parse(String(time)) / 1000) || 0,
    metadata: { level: LEVELS[Number(level)] ?? String(level), time: String(time), ...metadata },
    message: typeof msg === 'string' ? msg : '',
  }
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // A truncated line still starts with its level and time.
    const [, level, time] = /^\{"level":(\d+),"time":"([^"]*)"/.exec(line) ?? []
    return { level, time, msg: line }
  }
}
