import type { NodeHost } from '../../../core/upstream/node-host.ts'
import type { ValueType } from '../../settings/setting.ts'
import { readMap, readText } from '../parse-routes.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'

const HOST = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|\[[\da-f:.]+\])(?::[1-9]\d{0,4})?$/i

/** Reads one value; undefined: not set, or reported as invalid. */
export function readEntry<T>(
  source: YamlSource,
  what: string,
  entry: YamlEntry | undefined,
  { parse }: Pick<ValueType<T>, 'parse'>,
): T | undefined {
  const text = readText(source, entry, what)
  if (text === undefined) return undefined
  try {
    return parse([text])
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    source.report(entry!.value, `${what} ${error.message}`)
    return undefined
  }
}

/** Reads `timeout:`, a map of durations. */
export function readTimeouts<Name extends string>(
  source: YamlSource,
  what: string,
  entry: YamlEntry | undefined,
  types: Readonly<Record<Name, Pick<ValueType<number>, 'parse'>>>,
): Partial<Record<Name, number | undefined>> {
  if (entry === undefined) return {}
  const names = Object.keys(types) as Name[]
  const entries = readMap(source, `timeout of ${what}`, entry, names)
  const timeouts: Partial<Record<Name, number | undefined>> = {}
  for (const name of names) {
    const ms = readEntry(source, `${name} of timeout of ${what}`, entries.get(name), types[name])
    if (ms !== undefined) timeouts[name] = ms
  }
  return timeouts
}

/** Reads `host:` of a service. */
export function readHost(
  source: YamlSource,
  what: string,
  entry: YamlEntry | undefined,
): NodeHost | undefined {
  return readEntry(source, `host of ${what}`, entry, {
    parse([text]) {
      if (text === 'client') return undefined
      if (text === 'backend') return 'backend'
      if (HOST.test(text!)) return { name: text! }
      throw new RangeError(
        `must be client, backend or a host such as shop.internal or shop.internal:8080, got ${JSON.stringify(text)}`,
      )
    },
  })
}
