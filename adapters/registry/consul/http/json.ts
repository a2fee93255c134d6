import type { Endpoint, Value } from '../../../../core/contracts/registry.ts'
import {
  isRecord,
  MAX_VALUE_DEPTH,
  readMap as readTexts,
  readValue,
} from '../../../../core/registry/decode-service.ts'

export { isRecord }

/** Maximum number of pairs read from a map. */
const MAX_PAIRS = 256
/** Keys of a value in the order of the wire format. */
const VALUE_KEYS = ['name', 'type', 'values']

/** Returns an own string property, or an empty string if absent. */
export function readText(record: Readonly<Record<string, unknown>>, key: string): string {
  const value = Object.hasOwn(record, key) ? record[key] : undefined
  return typeof value === 'string' ? value : ''
}

/** Returns the string values of the first 256 pairs. */
export function readMap(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  if (Object.keys(value).length <= MAX_PAIRS) return readTexts(value)
  return readTexts(Object.fromEntries(Object.entries(value).slice(0, MAX_PAIRS)))
}

/**
 * Reads an endpoint from parsed JSON and may reuse its values.
 *
 * @throws {SyntaxError} with the invalid part.
 */
export function readEndpoint(value: Readonly<Record<string, unknown>>): Endpoint {
  const name = readText(value, 'name')
  if (name === '') throw new SyntaxError('an endpoint must have a name')
  const { request, response, metadata } = value
  return {
    name,
    request: isValue(request) ? request : readValue(request),
    response: isValue(response) ? response : readValue(response),
    metadata: readMap(metadata),
  }
}

/**
 * Returns whether a value can be used without copying: copying ten thousand endpoints takes longer
 * than parsing them.
 */
function isValue(value: unknown, depth: number = MAX_VALUE_DEPTH): value is Value {
  if (!isRecord(value)) return false
  let count = 0
  for (const key in value) if (key !== VALUE_KEYS[count++]) return false
  const { name, type, values } = value
  if (count !== VALUE_KEYS.length || typeof name !== 'string' || typeof type !== 'string')
    return false
  if (!Array.isArray(values) || (depth === 0 && values.length > 0)) return false
  for (const inner of values) if (!isValue(inner, depth - 1)) return false
  return true
}
