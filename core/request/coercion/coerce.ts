import { createNullProto } from '../../../lib/object/null-proto.ts'
import { GATEWAY_ID } from '../../errors.ts'
import { badRequest, quote } from '../bad-request.ts'
import { type Fields, type FieldValue, formatFieldPath, isFields, isLeaf } from '../fields.ts'
import { isDouble } from '../json/exact-json.ts'
import { parseInteger } from '../json/int64.ts'
import type { JsonObject, JsonValue } from '../json/json.ts'
import { ANY } from './scalar-shapes.ts'
import type { Shape } from './shape.ts'

/** Maximum number of attempts, since nested unions multiply them. */
const MAX_STEPS = 20_000
/** Maximum nesting of shapes, including unions and references. */
const MAX_DEPTH = 200
/** Maximum number of enumeration values listed in an error. */
const MAX_LISTED = 16

/** RFC 8259 §6. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

const MISMATCH: unique symbol = Symbol('misfit')
type Coerced = JsonValue | typeof MISMATCH

/** Progress of a coercion, and the reason for its failure. */
interface Attempt {
  steps: number
  expected: string
  actual: FieldValue | undefined
  /** Path of the failure, innermost first. */
  readonly path: (string | number)[]
}

/**
 * Converts fields, whose values are text, to the JSON document that an endpoint expects.
 *
 * | shape | accepts |
 * |---|---|
 * | string, bytes | any text unchanged; bytes are already Base64 |
 * | integer | a whole number: `42`, `42.0`, `4.2e1`; as a string above 2^53; must be within the bounds of the type |
 * | number | a JSON number |
 * | boolean | `true`, `1`, empty (a bare name); `false`, `0` |
 * | null | `null`, empty |
 * | enumeration | the text of one of its values |
 * | list | several values, or one |
 * | object | nested fields; undeclared fields have an unknown shape |
 * | any, none | JSON scalars are recognized: `123`, `1.5`, `true`, `null`, `"x"`; anything else is text, including numbers that are not JSON (`007`) or that a double cannot represent (2^53, `1e400`) |
 *
 * A file becomes Base64 where text is allowed. The service checks missing fields, unknown fields and ranges.
 *
 * @throws {GatewayError} 400 with the first field that does not match, and the expected type.
 */
export function coerce(fields: Fields, shape: Shape = ANY, id: string = GATEWAY_ID): JsonObject {
  const attempt: Attempt = { steps: 0, expected: '', actual: undefined, path: [] }
  const document = fit(fields, shape, 0, attempt)
  // Fields are an object, so only an object can match.
  if (document !== MISMATCH) return document as JsonObject
  // Worded like the service's error for a JSON body.
  const path = formatFieldPath(['request', ...attempt.path.reverse()])
  throw badRequest(
    id,
    `${path} must be ${attempt.expected}, got ${describe(attempt.actual ?? fields)}`,
  )
}

function fit(value: FieldValue, shape: Shape, depth: number, attempt: Attempt): Coerced {
  if (depth > MAX_DEPTH || ++attempt.steps > MAX_STEPS) return miss(attempt, 'simpler', value)
  switch (shape.kind) {
    case 'any':
      return fitAny(value, depth, attempt)
    case 'object':
      return fitObject(value, shape, depth, attempt)
    case 'list':
      return fitList(value, shape, depth, attempt)
    case 'union':
      return fitUnion(value, shape.options, depth, attempt)
    case 'enum':
      return fitEnum(value, shape.values, attempt)
    case 'string':
      return isLeaf(value) ? toText(value) : miss(attempt, 'a string', value)
    case 'integer':
      return fitInteger(value, shape.min, shape.max, attempt)
    case 'number':
      return fitNumber(value, attempt)
    case 'boolean':
      if (value === 'true' || value === '1' || value === '') return true
      return value === 'false' || value === '0' ? false : miss(attempt, 'true or false', value)
    case 'null':
      return value === 'null' || value === '' ? null : miss(attempt, 'null', value)
  }
}

function fitAny(value: FieldValue, depth: number, attempt: Attempt): Coerced {
  if (typeof value === 'string') return parseScalar(value)
  if (isLeaf(value)) return toText(value)
  if (!Array.isArray(value)) return fitObject(value, ANY_OBJECT, depth, attempt)
  return fitList(value, ANY_LIST, depth, attempt)
}

const ANY_LIST: Shape & { kind: 'list' } = { kind: 'list', items: ANY, first: [] }
const ANY_OBJECT: Shape & { kind: 'object' } = { kind: 'object', fields: new Map(), rest: ANY }

function fitObject(
  value: FieldValue,
  shape: Shape & { kind: 'object' },
  depth: number,
  attempt: Attempt,
): Coerced {
  if (!isFields(value)) return miss(attempt, 'an object', value)
  const document: JsonObject = createNullProto()
  for (const name in value) {
    const coerced = fit(value[name]!, shape.fields.get(name) ?? shape.rest, depth + 1, attempt)
    if (coerced === MISMATCH) {
      attempt.path.push(name)
      return MISMATCH
    }
    document[name] = coerced
  }
  return document
}

function fitList(
  value: FieldValue,
  shape: Shape & { kind: 'list' },
  depth: number,
  attempt: Attempt,
): Coerced {
  if (isFields(value)) return miss(attempt, 'a list', value)
  const values = Array.isArray(value) ? value : [value]
  const list: JsonValue[] = []
  for (let i = 0; i < values.length; i++) {
    const coerced = fit(values[i]!, shape.first[i] ?? shape.items, depth + 1, attempt)
    if (coerced === MISMATCH) {
      attempt.path.push(i)
      return MISMATCH
    }
    list.push(coerced)
  }
  return list
}

function fitUnion(
  value: FieldValue,
  options: readonly Shape[],
  depth: number,
  attempt: Attempt,
): Coerced {
  const expected: string[] = []
  let inner: Attempt | undefined
  for (const option of options) {
    const coerced = fit(value, option, depth + 1, attempt)
    if (coerced !== MISMATCH) return coerced
    // The innermost mismatch is more specific than a list of alternatives.
    if (attempt.path.length > 0) inner ??= { ...attempt, path: [...attempt.path] }
    else expected.push(attempt.expected)
    attempt.path.length = 0
  }
  if (inner === undefined) return miss(attempt, expected.join(' or '), value)
  attempt.path.push(...inner.path)
  return miss(attempt, inner.expected, inner.actual!)
}

function fitEnum(value: FieldValue, values: readonly JsonValue[], attempt: Attempt): Coerced {
  if (typeof value === 'string') {
    for (const option of values) if (option === value) return value
    for (const option of values)
      if (typeof option !== 'string' && String(option) === value) return option
  }
  const listed = values.slice(0, MAX_LISTED).map((option) => JSON.stringify(option))
  if (values.length > MAX_LISTED) listed.push('…')
  return miss(attempt, listed.length === 1 ? listed[0]! : `one of ${listed.join(', ')}`, value)
}

function fitInteger(value: FieldValue, min: bigint, max: bigint, attempt: Attempt): Coerced {
  const coerced = typeof value === 'string' ? parseInteger(value, min, max) : undefined
  if (coerced !== undefined) return coerced
  // For more digits than a double can represent, `Number` returns an integer or Infinity.
  const isOutside =
    typeof value === 'string' && DECIMAL.test(value) && Math.trunc(Number(value)) === Number(value)
  return miss(attempt, isOutside ? `an integer from ${min} to ${max}` : 'an integer', value)
}

function fitNumber(value: FieldValue, attempt: Attempt): Coerced {
  if (typeof value !== 'string' || !JSON_NUMBER.test(value)) return miss(attempt, 'a number', value)
  const number = Number(value)
  return Number.isFinite(number)
    ? number
    : miss(attempt, 'a number in the range of a double', value)
}

/** Parses a JSON scalar. Other text is returned unchanged. */
function parseScalar(text: string): JsonValue {
  const first = text.charCodeAt(0)
  // `-` or a digit.
  if (first === 0x2d || (first >= 0x30 && first <= 0x39)) {
    if (!JSON_NUMBER.test(text)) return text
    // -0 becomes 0.
    return isDouble(text) ? Number(text) + 0 : text
  }
  if (text === 'true') return true
  if (text === 'false') return false
  if (text === 'null') return null
  if (first === 0x22) {
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  }
  return text
}

function toText(value: string | Uint8Array): string {
  return typeof value === 'string'
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')
}

function miss(attempt: Attempt, expected: string, actual: FieldValue): typeof MISMATCH {
  attempt.expected = expected
  attempt.actual = actual
  return MISMATCH
}

function describe(value: FieldValue): string {
  if (typeof value === 'string') return quote(value)
  if (isLeaf(value)) return 'a file'
  return Array.isArray(value) ? `a list of ${value.length}` : 'an object'
}
