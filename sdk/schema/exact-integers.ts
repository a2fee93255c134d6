import { ANY } from '../../core/request/coercion/scalar-shapes.ts'
import { parseSchema } from '../../core/request/coercion/schema-shape.ts'
import type { Shape } from '../../core/request/coercion/shape.ts'
import { isDouble, isExact, quoteNumbers } from '../../core/request/json/exact-json.ts'
import { parseInteger } from '../../core/request/json/int64.ts'
import type { JsonValue, RestoreNumbers } from '../../core/request/json/json.ts'
import type { CompiledSchema } from './schema.ts'
import { formatKeyPath, SchemaError } from './schema-error.ts'

/**
 * Replaces numbers rounded by `JSON.parse` with the value that the schema expects: a string of digits for 64-bit
 * integers and unknown types, a double for numbers.
 *
 * @param root first part of paths in errors, such as `request`.
 * @returns a function that throws a SchemaError with path and number for an integer out of range, or a number beyond
 * the range of a double (RFC 8259 §6 allows range limits).
 */
export function createRestore({ jsonSchema }: CompiledSchema, root: string): RestoreNumbers {
  /** Created on demand. */
  let shape: Shape | undefined
  return (value, text) => {
    const exact = quoteNumbers(text, isExact)
    if (exact === undefined) return value
    shape ??= parseSchema(JSON.stringify(jsonSchema ?? {})) ?? ANY
    return restore(value, exact as JsonValue, shape, root, [])
  }
}

type Keys = readonly (string | number)[]

/** @param exact the same value, with inexact numbers as strings. */
function restore(
  value: JsonValue,
  exact: JsonValue,
  shape: Shape,
  root: string,
  keys: Keys,
): JsonValue {
  if (typeof value === 'number' && typeof exact === 'string')
    return choose(value, exact, shape, root, keys)
  if (typeof value !== 'object' || value === null) return value
  const parts = value as Record<string | number, JsonValue>
  for (const name of Object.keys(value)) {
    const step = Array.isArray(value) ? Number(name) : name
    const part = (exact as typeof parts)[step]!
    parts[step] = restore(parts[step]!, part, shapeAt(shape, step), root, [...keys, step])
  }
  return value
}

function choose(value: number, text: string, shape: Shape, root: string, keys: Keys): JsonValue {
  const options = flatten(shape)
  for (const option of options) {
    if (option.kind === 'any') return isDouble(text) ? value : text
    if (option.kind === 'number' && Number.isFinite(value)) return value
    const integer =
      option.kind === 'integer' ? parseInteger(text, option.min, option.max) : undefined
    if (integer !== undefined) return integer
  }
  const integer = options.find((option) => option.kind === 'integer')
  // The schema validates other types.
  if (integer === undefined && Number.isFinite(value)) return value
  const expected =
    integer === undefined
      ? 'a number in the range of a double'
      : `an integer from ${integer.min} to ${integer.max}`
  throw new SchemaError(
    `${formatKeyPath(root, keys)} must be ${expected}, got ${text.slice(0, 100)}`,
  )
}

/** Alternatives of a shape, or the shape itself. Unions may be recursive. */
function flatten(shape: Shape, visited = new Set<Shape>()): readonly Shape[] {
  if (shape.kind !== 'union') return [shape]
  if (visited.has(shape)) return []
  visited.add(shape)
  return shape.options.flatMap((option) => flatten(option, visited))
}

function shapeAt(shape: Shape, step: string | number): Shape {
  if (shape.kind === 'object') return shape.fields.get(String(step)) ?? shape.rest
  if (shape.kind === 'list') return shape.first[Number(step)] ?? shape.items
  if (shape.kind !== 'union') return ANY
  const expected = typeof step === 'number' ? 'list' : 'object'
  const options = flatten(shape)
    .filter(({ kind }) => kind === expected)
    .map((option) => shapeAt(option, step))
  return options.length === 1 ? options[0]! : { kind: 'union', options }
}
