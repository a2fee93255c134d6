import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import { guardLog } from '../core/guarded-log.ts'
import { escapeControls } from '../core/terminal-text.ts'
import type { LogLevel } from './settings.ts'

/** The gateway's log: what operators should know, never a request's content. On standard error. */
export type Log = Logger

const STDERR = 2
const LABELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const COLORS: Readonly<Record<number, string>> = { 40: '33', 50: '31', 60: '31' }
/** Fields a person at a terminal does not need on every line. */
const HIDDEN: ReadonlySet<string> = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err'])

/** Opens the log: JSON lines, or short readable ones on a terminal. Lines are written before the call returns, so that none is lost when the process ends. */
export function createLog(level: LogLevel): Log {
  const lines = pino.destination({ dest: STDERR, sync: true })
  const target = isatty(STDERR) ? toReadable(lines, !process.env['NO_COLOR']) : lines
  return pino(
    { level, timestamp: pino.stdTimeFunctions.isoTime, ...guardLog(pino.stdSerializers.err) },
    target,
  )
}

/** Turns pino's lines into `12:00:00 warn  message key=value`. */
function toReadable(lines: DestinationStream, colored: boolean): DestinationStream {
  return {
    write: (line) => lines.write(formatLine(JSON.parse(line) as Record<string, unknown>, colored)),
  }
}

/** One line of the log for a terminal. Exported for its test. */
export function formatLine(entry: Readonly<Record<string, unknown>>, colored: boolean): string {
  const level = Number(entry['level'])
  const label = (LABELS[level] ?? String(level)).padEnd(5)
  const color = colored ? COLORS[level] : undefined
  const fields = Object.entries(entry).filter(([key]) => !HIDDEN.has(key))
  const tail = fields.map(
    ([key, value]) =>
      ` ${key}=${typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value)}`,
  )
  const failure = entry['err'] as { stack?: string } | undefined
  const time = String(entry['time']).slice(11, 19)
  const stack = failure?.stack === undefined ? '' : `\n${failure.stack}`
  const shownLabel = color === undefined ? label : `\u001b[${color}m${label}\u001b[0m`
  const text = escapeControls(`${String(entry['msg'] ?? '')}${tail.join('')}${stack}`)
  return `${time} ${shownLabel} ${text}\n`
}
