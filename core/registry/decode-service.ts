import type { Endpoint, Value } from '../contracts/registry.ts'

/** Called for an invalid part of an entry. If it returns, the part is treated as missing. */
export type OnWrong = (path: string, must: string) => void

type Fields = Readonly<Record<string, unknown>>

/** Maximum depth of a value description. */
export const MAX_VALUE_DEPTH = 32
const NO_VALUE: Value = { name: '', type: '', values: [] }
const skip: OnWrong = () => {}

/** True for JSON objects, not for arrays and null. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses an endpoint as stored by a registry (specification: Endpoint); missing parts are empty. */
export function readEndpoint(fields: Fields, path = '', onWrong: OnWrong = skip): Endpoint {
  return {
    name: readText(fields, 'name', path, onWrong),
    request: readValue(fields['request'], `${path}.request`, onWrong),
    response: readValue(fields['response'], `${path}.response`, onWrong),
    metadata: readMap(fields['metadata'], `${path}.metadata`, onWrong),
  }
}

/** Returns the strings of a map without `__proto__`, which would be lost when objects are copied. */
export function readMap(map: unknown, path = '', onWrong: OnWrong = skip): Record<string, string> {
  const read: Record<string, string> = {}
  if (map === undefined) return read
  if (!isRecord(map)) {
    onWrong(path, 'must be an object')
    return read
  }
  for (const key of Object.keys(map)) {
    const text = map[key]
    if (typeof text !== 'string') onWrong(`${path}.${key}`, 'must be a string')
    else if (key !== '__proto__') read[key] = text
  }
  return read
}

/** Parses the description of an endpoint's request or response, at most 32 levels deep; missing parts are empty. */
export function readValue(
  value: unknown,
  path = '',
  onWrong: OnWrong = skip,
  depth: number = MAX_VALUE_DEPTH,
): Value {
  if (value === undefined || value === null) return NO_VALUE
  if (!isRecord(value)) {
    onWrong(path, 'must be an object')
    return NO_VALUE
  }
  const { values = [] } = value
  const isList = Array.isArray(values)
  if (!isList) onWrong(`${path}.values`, 'must be a list')
  else if (values.length > 0 && depth === 0)
    onWrong(path, `must not nest deeper than ${MAX_VALUE_DEPTH}`)
  return {
    name: readText(value, 'name', path, onWrong),
    type: readText(value, 'type', path, onWrong),
    values:
      isList && depth > 0
        ? values.map((inner, i) => readValue(inner, `${path}.values[${i}]`, onWrong, depth - 1))
        : [],
  }
}

function readText(fields: Fields, key: string, path: string, onWrong: OnWrong): string {
  const text = Object.hasOwn(fields, key) ? fields[key] : ''
  if (typeof text === 'string') return text
  if (text !== undefined) onWrong(`${path}.${key}`, 'must be a string')
  return ''
}
