import { type DestinationStream, type Logger, pino } from 'pino'
import { formatLogLine, hasColors, isTerminal, type LogEntry } from '../../lib/log/format-line.ts'
import { guardLog } from '../../lib/log/safe-log.ts'
import type { LogLevel } from '../settings/table/log.ts'

/** Log for operators on standard error. It never contains request contents. */
export type Log = Logger

const STDERR = 2

/**
 * Creates a log that writes JSON lines, or human-readable lines on a terminal. It writes
 * synchronously, so that no line is lost at exit.
 *
 * @param hide replaces secrets in every line. @default none
 */
export function createLog(level: LogLevel, hide?: (line: string) => string): Log {
  const file = pino.destination({ dest: STDERR, sync: true })
  const lines = hide === undefined ? file : { write: (line: string) => file.write(hide(line)) }
  const target = isTerminal(STDERR) ? toReadable(lines) : lines
  return pino(
    { level, timestamp: pino.stdTimeFunctions.isoTime, ...guardLog(pino.stdSerializers.err) },
    target,
  )
}

/** Formats JSON lines as `12:00:00 warn  message key=value`. */
function toReadable(lines: DestinationStream): DestinationStream {
  const isColored = hasColors()
  return {
    write: (line) => lines.write(formatLogLine(JSON.parse(line) as LogEntry, isColored)),
  }
}
