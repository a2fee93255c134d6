import { isatty } from 'node:tty'
import { escapeControls } from '../text/terminal-text.ts'

/** A log line parsed from JSON. */
export type LogEntry = Readonly<Record<string, unknown>>

const LABELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const INFO = 30
const ERROR = 50
const COLORS: Readonly<Record<number, string>> = { 40: '33', 50: '31', 60: '31' }
/** Fields that are formatted separately or not useful in a terminal. */
const HIDDEN: ReadonlySet<string> = new Set([
  ...['level', 'time', 'pid', 'hostname', 'msg', 'err', 'service'],
])
/** Fields of a request that are not useful in a terminal. */
const HIDDEN_REQUEST_FIELDS: ReadonlySet<string> = new Set([
  ...['method', 'path', 'status', 'durationMs', 'bytesIn', 'bytesOut', 'host', 'upstreamMs'],
  ...['trace', 'userAgent', 'referer', 'namespace'],
])

/** Whether a file descriptor is a terminal. Logs are formatted for terminals, and are JSON otherwise. */
export function isTerminal(fd: number): boolean {
  return isatty(fd)
}

/** Whether lines in terminals are colored: true unless `NO_COLOR` is set (no-color.org). */
export function hasColors(): boolean {
  return !process.env['NO_COLOR']
}

/**
 * Formats a log line for a terminal: `12:00:00 warn  service: message key=value`, followed by the stack of its error.
 */
export function formatLogLine(entry: LogEntry, isColored: boolean): string {
  const level = Number(entry['level'])
  const label = (LABELS[level] ?? String(level)).padEnd(5)
  const color = isColored ? COLORS[level] : undefined
  const fields = Object.entries(entry).filter(([key]) => !HIDDEN.has(key))
  const tail = fields.map(
    ([key, value]) =>
      ` ${key}=${typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value)}`,
  )
  const failure = entry['err'] as { stack?: string } | undefined
  const time = formatTime(entry['time'])
  const stack = failure?.stack === undefined ? '' : `\n${failure.stack}`
  const coloredLabel = color === undefined ? label : `\u001b[${color}m${label}\u001b[0m`
  const service = entry['service'] === undefined ? '' : `${entry['service']}: `
  const text = escapeControls(`${service}${entry['msg'] ?? ''}${tail.join('')}${stack}`)
  return `${time} ${coloredLabel} ${text}\n`
}

/** Formats an access log line for a terminal: `12:00:00 info  shop: GET /shop/find 200 1.5 ms client=127.0.0.1`. */
export function formatAccessLine(entry: LogEntry, isColored: boolean): string {
  const { method, path, status, durationMs } = entry
  const fields = Object.entries(entry).filter(([key]) => !HIDDEN_REQUEST_FIELDS.has(key))
  const level = Number(status) >= 500 || entry['aborted'] === true ? ERROR : INFO
  const msg = `${method} ${path} ${status} ${durationMs} ms`
  return formatLogLine({ ...Object.fromEntries(fields), level, msg }, isColored)
}

/** Formats a pino JSON line for a terminal. Other lines are returned unchanged. */
export function formatWrittenLine(line: string, isColored: boolean): string {
  if (!line.startsWith('{')) return `${line}\n`
  try {
    const entry = JSON.parse(line) as LogEntry
    if (Number(entry['level']) in LABELS && typeof entry['msg'] === 'string')
      return formatLogLine(entry, isColored)
  } catch {
    // Not JSON.
  }
  return `${line}\n`
}

/** Returns the UTC time of day for an ISO 8601 text or a Unix time in milliseconds. */
function formatTime(time: unknown): string {
  const iso =
    typeof time === 'number' && Number.isFinite(time)
      ? new Date(time).toISOString()
      : String(time ?? '')
  return iso.slice(11, 19)
}
