import type { Endpoint, Value } from '../contracts/registry.ts'

/** Called for an invalid part of an entry. If it returns, the part is treated as missing. */
export type OnInvalid = (path: string, must: string) => void

type Fields = Readonly<Record<string, unknown>>

/** Maximum depth of a value description. */
export const MAX_VALUE_DEPTH = 32
const NO_VALUE: Value = { name: '', type: '', values: [] }
const skip: OnInvalid = () => {}

/** True for JSON objects, not for arrays and null. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses an endpoint as stored by a registry (specification: Endpoint); missing parts are empty. */
export function readEndpoint(fields: Fields, path = '', onInvalid: OnInvalid = skip): Endpoint {
  return {
    name: readText(fields, 'name', path, onInvalid),
    request: readValue(fields['request'], `${path}.request`, onInvalid),
    response: readValue(fields['response'], `${path}.response`, onInvalid),
    metadata: readMap(fields['metadata'], `${path}.metadata`, onInvalid),
  }
}

/** Returns the strings of a map without `__proto__`, which would be lost when objects are copied. */
export function readMap(
  map: unknown,
  path = '',
  onInvalid: OnInvalid = skip,
): Record<string, string> {
  const read: Record<string, string> = {}
  if (map === undefined) return read
  if (!isRecord(map)) {
    onInvalid(path, 'must be an object')
    return read
  }
  for (const key of Object.keys(map)) {
    const text = map[key]
    if (typeof text !== 'string') onInvalid(`${path}.${key}`, 'must be a string')
    else if (key !== '__proto__') read[key] = text
  }
  return read
}

/** Parses the description of an endpoint's request or response, at most 32 levels deep; missing parts are empty. */
export function readValue(
  value: unknown,
  path = '',
  onInvalid: OnInvalid = skip,
  depth: number = MAX_VALUE_DEPTH,
): Value {
  if (value === undefined || value === null) return NO_VALUE
  if (!isRecord(value)) {
    onInvalid(path, 'must be an object')
    return NO_VALUE
  }
  const { values = [] } = value
  const isList = Array.isArray(values)
  if (!isList) onInvalid(`${path}.values`, 'must be a list')
  else if (values.length > 0 && depth === 0)
    onInvalid(path, `must not nest deeper than ${MAX_VALUE_DEPTH}`)
  return {
    name: readText(value, 'name', path, onInvalid),
    type: readText(value, 'type', path, onInvalid),
    values:
      isList && depth > 0
        ? values.map((inner, i) => readValue(inner, `${path}.values[${i}]`, onInvalid, depth - 1))
        : [],
  }
}

function readText(fields: Fields, key: string, path: string, onInvalid: OnInvalid): string {
  const text = Object.hasOwn(fields, key) ? fields[key] : ''
  if (typeof text === 'string') return text
  if (text !== undefined) onInvalid(`${path}.${key}`, 'must be a string')
  return ''
}
