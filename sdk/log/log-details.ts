import { format } from 'node:util'
import type { PluginLog } from '../../core/plugin/define.ts'

/** Fields of a log line, except its message. */
export type LogDetails = Readonly<Record<string, unknown>>

/** Fields of every line of a service's log. */
const LINE: readonly string[] = ['level', 'time', 'service', 'msg']

/**
 * A logger that adds `about` to each line.
 *
 * Tolerates all input: an error becomes `{ err }`, a string instead of details is the message, and unreadable fields
 * are marked. Fields that conflict with fields of the line get an underscore as prefix.
 */
export function addDetails(log: PluginLog, about: LogDetails = {}): PluginLog {
  const taken = new Set([...LINE, ...Object.keys(about)])
  const to = (level: keyof PluginLog) => (details: unknown, message: string) => {
    if (typeof details === 'string')
      log[level](about, format(...[details, message].filter(isGiven)))
    else log[level]({ ...about, ...toFields(details, taken) }, message)
  }
  return { debug: to('debug'), info: to('info'), warn: to('warn'), error: to('error') }
}

function toFields(details: unknown, taken: ReadonlySet<string>): LogDetails {
  const fields: Record<string, unknown> = {}
  try {
    if (details instanceof Error) return { err: details }
    for (const name of Object.keys(details ?? {}))
      fields[taken.has(name) ? `_${name}` : name] = readField(details as LogDetails, name)
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

function isGiven(value: unknown): boolean {
  return value !== undefined
}
