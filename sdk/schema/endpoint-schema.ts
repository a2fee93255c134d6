import type { Endpoint, Value } from '../../core/contracts/registry.ts'
import type { JsonSchema } from './json-schema.ts'

const SCALARS: Readonly<Record<string, JsonSchema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  // A 64-bit integer is a string in JSON if it would be rounded as a number (reference 15.11).
  int64: { type: ['integer', 'string'], format: 'int64' },
  uint32: { type: 'integer', format: 'uint32' },
  uint64: { type: ['integer', 'string'], format: 'uint64' },
  float: { type: 'number' },
  double: { type: 'number' },
  float64: { type: 'number' },
  bytes: { type: 'string', contentEncoding: 'base64' },
}
const LIST = '[]'
const MAP = /^map\[\w+\]/

/** Schema of an endpoint's messages: taken from its metadata, else derived from its fields. */
export function schemaOf(endpoint: Endpoint, side: 'request' | 'response'): JsonSchema {
  try {
    const schema: unknown = JSON.parse(endpoint.metadata[`${side}Schema`] ?? '')
    if (typeof schema === 'object' && schema !== null) return schema
  } catch {
    // A missing or invalid schema is derived from the fields.
  }
  return toSchema(endpoint[side])
}

/** Derives a schema from a registry field (specification: Value), for services without JSON Schemas. */
export function toSchema({ type, values }: Pick<Value, 'type' | 'values'>): JsonSchema {
  if (type.startsWith(LIST))
    return { type: 'array', items: toSchema({ type: type.slice(LIST.length), values }) }
  const map = MAP.exec(type)?.[0]
  if (map !== undefined)
    return {
      type: 'object',
      additionalProperties: toSchema({ type: type.slice(map.length), values }),
    }
  const scalar = Object.hasOwn(SCALARS, type) ? SCALARS[type] : undefined
  if (scalar !== undefined) return scalar
  if (values.length === 0) return {}
  return {
    type: 'object',
    properties: Object.fromEntries(values.map((value) => [value.name, toSchema(value)])),
  }
}
