import { type DestinationStream, type Logger, pino } from 'pino'
import { formatLogLine, hasColors, isTerminal, type LogEntry } from '../../lib/log/format-line.ts'
import { guardLog } from '../../lib/log/safe-log.ts'
import type { LogLevel } from '../settings/table/log.ts'

/** The gateway's log: what operators should know, never a request's content. On standard error. */
export type Log = Logger

const STDERR = 2
/** Opens the log: JSON lines, or short readable ones on a terminal. Lines are written before the call returns, so that none is lost when the process ends. */
export function createLog(level: LogLevel): Log {
  const lines = pino.destination({ dest: STDERR, sync: true })
  const target = isTerminal(STDERR) ? toReadable(lines) : lines
  return pino(
    { level, timestamp: pino.stdTimeFunctions.isoTime, ...guardLog(pino.stdSerializers.err) },
    target,
  )
}

/** Turns pino's lines into `12:00:00 warn  message key=value`. */
function toReadable(lines: DestinationStream): DestinationStream {
  const isColored = hasColors()
  return {
    write: (line) => lines.write(formatLogLine(JSON.parse(line) as LogEntry, isColored)),
  }
}
