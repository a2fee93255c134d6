import type { NodeHost } from '../../../core/upstream/node/node-host.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'
import { SETTINGS } from '../../settings/settings.ts'
import { readMap, readText } from '../actions/read-map.ts'
import type { ConfiguredTimeouts } from '../types.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'

const HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|\[[\da-f:.]+\])(?::[1-9]\d{0,4})?$/i

/** Reads a single value. Returns undefined if it is not set or is reported as invalid. */
export function readScalar<T>(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
  { parse }: Pick<ValueType<T>, 'parse'>,
): T | undefined {
  const text = readText(source, entry, label)
  if (text === undefined) return undefined
  return attempt(source, entry!, label, () => parse([text]))
}

function attempt<T>(
  source: YamlSource,
  { value }: YamlEntry,
  label: string,
  parse: () => T,
): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    source.report(value, `${label} ${error.message}`)
    return undefined
  }
}

/** Reads a single value or a list. */
export function readList<T>(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
  { parse }: Pick<ValueType<T>, 'parse'>,
): T | undefined {
  if (entry === undefined) return undefined
  const texts = source.texts(entry.value, label).map(({ text }) => text)
  return attempt(source, entry, label, () => parse(texts))
}

const TIMEOUTS = {
  request: SETTINGS.requestTimeoutMs,
  connect: SETTINGS.connectTimeoutMs,
  response: SETTINGS.replyTimeoutMs,
  idle: SETTINGS.idleTimeoutMs,
}

/** Reads `timeout:` of a service or route, a map of durations. */
export function readTimeouts(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
  names: readonly (keyof ConfiguredTimeouts)[],
): ConfiguredTimeouts {
  if (entry === undefined) return {}
  const entries = readMap(source, `timeout of ${label}`, entry, names)
  const timeouts: { -readonly [Name in keyof ConfiguredTimeouts]: number | undefined } = {}
  for (const name of names) {
    const ms = readScalar(
      source,
      `${name} of timeout of ${label}`,
      entries.get(name),
      TIMEOUTS[name],
    )
    if (ms !== undefined) timeouts[name] = ms
  }
  return timeouts
}

/** Type of `host:` of a service. */
export const HOST_TYPE: Pick<ValueType<NodeHost | 'client'>, 'parse'> = {
  parse([text]) {
    if (text === 'client' || text === 'backend') return text
    if (HOST.test(text!)) return { name: text! }
    throw new RangeError(
      `must be client, backend or a host such as shop.internal or shop.internal:8080, got ${JSON.stringify(text)}`,
    )
  },
}
