import { resolve } from 'node:path'
import { isServiceName } from '../../../core/registry/service-name.ts'
import type { ErrorPageEntry } from '../types.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import { readMap } from './read-map.ts'

const STATUS = /^(?:[45]\d\d|[45]xx)$/
const SERVICE = 'service:'

/**
 * Reads `errors:` of the gateway, a service or a route, which maps statuses to files or services.
 */
export function readErrors(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
  folder: string,
): readonly ErrorPageEntry[] {
  const entries = readMap(source, `errors of ${label}`, entry, undefined)
  return [...entries.values()].flatMap(({ key, name, value }) => {
    const text = source.text(value) ?? ''
    const service = text.startsWith(SERVICE) ? text.slice(SERVICE.length) : undefined
    if (!STATUS.test(name))
      source.report(
        key,
        `key of errors of ${label} must be a status from 400 to 599, 4xx or 5xx, got ${JSON.stringify(name)}`,
      )
    else if (text === '' || (service !== undefined && !isServiceName(service)))
      source.report(
        value ?? key,
        `errors.${name} of ${label} must be a file such as ./sorry.html or service:<name>, got ${JSON.stringify(text)}`,
      )
    else
      return [
        {
          ...{ status: name, service, at: source.at(key) },
          file: service === undefined ? resolve(folder, text) : undefined,
        },
      ]
    return []
  })
}
