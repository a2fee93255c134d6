import type { Endpoint, Value } from '../../../core/contracts/registry.ts'

const MAX_DEPTH = 32
/** Most pairs read of a map. */
const MAX_PAIRS = 256
const NOTHING: Value = { name: '', type: '', values: [] }

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object's own member of type string; empty when there is none. */
export function readText(record: Readonly<Record<string, unknown>>, key: string): string {
  const value = Object.hasOwn(record, key) ? record[key] : undefined
  return typeof value === 'string' ? value : ''
}

/** The texts of a map; what is no text is left out, and `__proto__`, which no copy of an object keeps. */
export function readMap(value: unknown): Record<string, string> {
  const map: Record<string, string> = {}
  if (!isRecord(value)) return map
  for (const [key, text] of Object.entries(value).slice(0, MAX_PAIRS))
    if (typeof text === 'string' && key !== '__proto__') map[key] = text
  return map
}

/** @throws {SyntaxError} naming what is wrong. */
export function readEndpoint(value: Readonly<Record<string, unknown>>): Endpoint {
  const name = readText(value, 'name')
  if (name === '') throw new SyntaxError('an endpoint must have a name')
  return {
    name,
    request: readValue(value['request'], MAX_DEPTH),
    response: readValue(value['response'], MAX_DEPTH),
    metadata: readMap(value['metadata']),
  }
}

function readValue(value: unknown, depth: number): Value {
  if (!isRecord(value) || depth === 0) return NOTHING
  const values: unknown[] = Array.isArray(value['values']) ? value['values'] : []
  return {
    name: readText(value, 'name'),
    type: readText(value, 'type'),
    values: values.map((inner) => readValue(inner, depth - 1)),
  }
}
