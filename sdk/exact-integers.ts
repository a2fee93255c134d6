import { badRequest } from '../core/request/bad-request.ts'
import { parseExactJson } from '../core/request/exact-json.ts'
import { formatPath } from '../core/request/fields.ts'
import { parseInteger } from '../core/request/int64.ts'
import { ANY } from '../core/request/scalar-shapes.ts'
import type { Shape } from '../core/request/shape.ts'

/** The fewest digits of an integer beyond 2^53. */
const DIGITS_MIN = 16
const LONG = /\d{16}/

/** Whether JSON may hold integers that JavaScript rounds. */
export function mayHoldLongIntegers(body: string | Uint8Array): boolean {
  if (body.length < DIGITS_MIN) return false
  return LONG.test(
    typeof body === 'string'
      ? body
      : Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'),
  )
}

/**
 * Puts integers beyond 2^53 in place of what `JSON.parse` rounded them to, as a query string would have them: digits where the shape is an
 * integer of 64 bits or unknown, a double where it is a number.
 *
 * @param value of `body`, by `JSON.parse`; is changed.
 * @throws {GatewayError} 400 where the shape is an integer that does not hold it.
 */
export function restoreIntegers(
  value: unknown,
  body: string | Uint8Array,
  shape: Shape,
  id: string,
): unknown {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return restore(value, parseExactJson(text), shape, ['request'], id)
}

/** @param exact the same value, with its integers beyond 2^53 as text. */
function restore(
  value: unknown,
  exact: unknown,
  shape: Shape,
  path: (string | number)[],
  id: string,
): unknown {
  if (typeof value === 'number' && typeof exact === 'string')
    return choose(value, exact, shape, path, id)
  if (typeof value !== 'object' || value === null) return value
  const parts = value as Record<string | number, unknown>
  for (const name of Object.keys(value)) {
    const step = Array.isArray(value) ? Number(name) : name
    const part = (exact as typeof parts)[step]
    parts[step] = restore(parts[step], part, shapeAt(shape, step), [...path, step], id)
  }
  return value
}

function choose(
  value: number,
  digits: string,
  shape: Shape,
  path: (string | number)[],
  id: string,
): unknown {
  const options = shape.kind === 'union' ? shape.options : [shape]
  for (const option of options) {
    if (option.kind === 'any') return digits
    if (option.kind === 'number') return value
    const integer =
      option.kind === 'integer' ? parseInteger(digits, option.min, option.max) : undefined
    if (integer !== undefined) return integer
  }
  const [first] = options
  // Other kinds are for the schema to judge.
  if (options.length > 1 || first?.kind !== 'integer') return value
  throw badRequest(
    id,
    `${formatPath(path)} must be an integer from ${first.min} to ${first.max}, got ${digits.slice(0, 100)}`,
  )
}

function shapeAt(shape: Shape, step: string | number): Shape {
  if (shape.kind === 'object') return shape.fields.get(String(step)) ?? shape.rest
  if (shape.kind === 'list') return shape.first[Number(step)] ?? shape.items
  if (shape.kind !== 'union') return ANY
  const fitting = shape.options.filter(
    ({ kind }) => kind === (typeof step === 'number' ? 'list' : 'object'),
  )
  const options = fitting.map((option) => shapeAt(option, step))
  return options.length === 1 ? options[0]! : { kind: 'union', options }
}
