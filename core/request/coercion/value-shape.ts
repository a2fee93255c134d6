import type { Value } from '../../contracts/registry.ts'
import { ANY, BOOLEAN, NUMBER, SAFE_INTEGER, SIZED_INTEGERS, STRING } from './scalar-shapes.ts'
import type { Shape } from './shape.ts'

/** Types of Value trees, protobuf and JSON Schema, by name. */
const SCALARS: ReadonlyMap<string, Shape> = new Map([
  ...SIZED_INTEGERS,
  ['int', SIZED_INTEGERS.get('int64')!],
  ['uint', SIZED_INTEGERS.get('uint64')!],
  ['integer', SAFE_INTEGER],
  ['string', STRING],
  ['bytes', STRING],
  ['[]byte', STRING],
  ['[]uint8', STRING],
  ['bool', BOOLEAN],
  ['boolean', BOOLEAN],
  ['float', NUMBER],
  ['float32', NUMBER],
  ['float64', NUMBER],
  ['double', NUMBER],
  ['number', NUMBER],
])

/** Maximum depth of a Value tree; deeper parts accept any value. */
const MAX_DEPTH = 32

const MAP = 'map['
const LIST = '[]'

/**
 * Converts a Value to a shape: a scalar by its type name, `[]T`, `map[string]T`, or a message whose fields are in
 * `values`. For a list or map of messages, `values` contains the message fields. Other types without fields accept any
 * value.
 */
export function toShape(value: Value): Shape {
  return toTypeShape(value.type, value.values, 0)
}

function toTypeShape(type: string, values: readonly Value[], depth: number): Shape {
  const scalar = SCALARS.get(type)
  if (scalar !== undefined) return scalar
  if (depth > MAX_DEPTH) return ANY
  if (type.startsWith(LIST)) {
    const items = toTypeShape(type.slice(LIST.length), values, depth + 1)
    return { kind: 'list', items, first: [] }
  }
  const keyEnd = type.startsWith(MAP) ? type.indexOf(']') : -1
  if (keyEnd > 0) {
    const rest = toTypeShape(type.slice(keyEnd + 1), values, depth + 1)
    return { kind: 'object', fields: new Map(), rest }
  }
  if (values.length === 0) return ANY
  const fields = new Map<string, Shape>()
  for (const { name, type, values: inner } of values)
    fields.set(name, toTypeShape(type, inner, depth + 1))
  return { kind: 'object', fields, rest: ANY }
}
