import { format } from 'node:util'
import type { PluginLog } from '../../core/plugin/define.ts'

/** Fields of a log line, except its message. */
export type LogDetails = Readonly<Record<string, unknown>>

/** Fields of every log line of a service. */
const LINE: readonly string[] = ['level', 'time', 'service', 'msg']

/**
 * Creates a logger that adds `about` to each line.
 *
 * Accepts any input: an error becomes `{ err }`, a string in place of details is the message, and unreadable fields are
 * marked. Fields whose names conflict with fields of the line get an underscore as prefix.
 */
export function addDetails(log: PluginLog, about: LogDetails = {}): PluginLog {
  const reservedNames = new Set([...LINE, ...Object.keys(about)])
  const to = (level: keyof PluginLog) => (details: unknown, message: string) => {
    if (typeof details === 'string')
      log[level](about, format(...[details, message].filter(isDefined)))
    else log[level]({ ...about, ...toFields(details, reservedNames) }, message)
  }
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

function toFields(details: unknown, reservedNames: ReadonlySet<string>): LogDetails {
  const fields: Record<string, unknown> = {}
  try {
    if (details instanceof Error) return { err: details }
    for (const name of Object.keys(details ?? {}))
      fields[reservedNames.has(name) ? `_${name}` : name] = readField(details as LogDetails, name)
  } catch {
    fields['details'] = UNREADABLE
  }
  return fields
}

const UNREADABLE = '[cannot be read]'

function readField(details: LogDetails, name: string): unknown {
  try {
    return details[name]
  } catch {
    return UNREADABLE
  }
}

function isDefined(value: unknown): boolean {
  return value !== undefined
}
