import type { TLocalizedValidationError } from '../../core/schema.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import { hasSecretPart } from '../../lib/text/redact.ts'
import { type JsonSchema, parsePointer, typesOf } from './json-schema.ts'

/** A value that does not fit its schema. Expected, so it carries no stack. */
export class SchemaError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = limit
    this.name = 'SchemaError'
  }
}

const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/
const INDEX = /^(?:0|[1-9][0-9]*)$/
const MAX_KEY_CHARS = 80
/** Alternatives that are listed. */
const MAX_LISTED = 10

/** `request`, and a dot or brackets for each step into it. Long keys are cut: they are the caller's. */
export function formatPath(root: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((path, key) => {
    const text = String(key)
    if (typeof key === 'number' || INDEX.test(text)) return `${path}[${text}]`
    return PLAIN_KEY.test(text) && text.length <= MAX_KEY_CHARS
      ? `${path}.${text}`
      : `${path}[${inspectShort(text)}]`
  }, root)
}

/**
 * Says what is wrong with a value: the path of the first wrong field, what it must be and what it is (reference 15.10).
 *
 * @param root what the path begins with: `request`.
 * @param errors what TypeBox found, in its order, at most eight.
 */
export function describeErrors(
  root: string,
  schema: JsonSchema,
  value: unknown,
  errors: readonly TLocalizedValidationError[],
): string {
  // A field too many is told twice: by the field, whose schema is `false`, and better by its object.
  const told = errors.filter(({ keyword }) => keyword !== 'boolean')
  const first = told[0]
  if (first === undefined) return `${root} does not fit its schema`
  const union = findUnion(first, told)
  return union === undefined
    ? describe(root, schema, value, first)
    : describeUnion(root, schema, value, union, told)
}

function describe(
  root: string,
  schema: JsonSchema,
  value: unknown,
  error: TLocalizedValidationError,
): string {
  const keys = parsePointer(error.instancePath)
  const path = formatPath(root, keys)
  if (error.keyword === 'required')
    return `${formatPath(root, [...keys, error.params.requiredProperties[0] ?? ''])} is missing`
  if (error.keyword === 'additionalProperties')
    return `${formatPath(root, [...keys, error.params.additionalProperties[0] ?? ''])} is no known field`
  return `${path} ${toDemand(error)}, got ${showAt(schema, value, error)}`
}

function toDemand(error: TLocalizedValidationError): string {
  switch (error.keyword) {
    case 'type':
      return `must be ${joinOr([error.params.type].flat().map(withArticle))}`
    case 'const':
      return `must be ${inspectShort(error.params.allowedValue)}`
    case 'enum':
      return `must be ${joinOr(error.params.allowedValues.map(inspectShort))}`
    default:
      return error.message
  }
}

/** The outermost alternatives the error is one of, if it belongs to any. */
function findUnion(
  error: TLocalizedValidationError,
  errors: readonly TLocalizedValidationError[],
): TLocalizedValidationError | undefined {
  return errors.find(
    ({ keyword, schemaPath }) =>
      (keyword === 'anyOf' || keyword === 'oneOf') &&
      error.schemaPath.startsWith(`${schemaPath}/${keyword}/`),
  )
}

/** A value that fits none of several alternatives is one problem, not one for each of its parts. */
function describeUnion(
  root: string,
  schema: JsonSchema,
  value: unknown,
  union: TLocalizedValidationError,
  errors: readonly TLocalizedValidationError[],
): string {
  const options = findSchema(schema, `${union.schemaPath}/${union.keyword}`)
  const list = (Array.isArray(options) ? options : []) as readonly JsonSchema[]
  const given = findValue(value, union.instancePath)
  if (typeof given === 'object' && given !== null) {
    const fitting = list.findIndex((option) => typesOf(option).includes(typeOf(given)))
    const isOnly = list.filter((option) => typesOf(option).includes(typeOf(given))).length === 1
    const inside = `${union.schemaPath}/${union.keyword}/${fitting}`
    const error = errors.find(({ schemaPath }) => `${schemaPath}/`.startsWith(`${inside}/`))
    if (isOnly && error !== undefined) return describe(root, schema, value, error)
  }
  const path = formatPath(root, parsePointer(union.instancePath))
  const demands = [...new Set(list.map(toAlternative))]
  const got = showAt(schema, value, union)
  return demands.length === 0 || demands.length > MAX_LISTED
    ? `${path} fits none of its alternatives, got ${got}`
    : demands.length < list.length && typeOf(given) === 'object'
      ? `${path} must be ${joinOr(demands)} of one of its forms, got ${got}`
      : `${path} must be ${joinOr(demands)}, got ${got}`
}

function toAlternative(option: JsonSchema): string {
  if ('const' in option) return inspectShort(option.const)
  if (option.enum !== undefined) return joinOr(option.enum.map(inspectShort))
  const types = typesOf(option)
  return types.length === 0 ? 'of another form' : joinOr(types.map(withArticle))
}

/** The value an error is about, as errors show it; only its type where the schema calls it, or a part of it, secret. */
function showAt(schema: JsonSchema, value: unknown, error: TLocalizedValidationError): string {
  const given = findValue(value, error.instancePath)
  if (isSecret(schema, error.schemaPath)) return typeOf(given)
  if (typeof given === 'bigint') return String(given)
  try {
    return inspectShort(given)
  } catch {
    return typeOf(given)
  }
}

function isSecret(schema: JsonSchema, pointer: string): boolean {
  let at: unknown = schema
  let inner: unknown = schema
  for (const key of parsePointer(pointer)) {
    if ((at as JsonSchema).writeOnly === true) return true
    at = step(at, key)
    if (typeof at !== 'object' || at === null) break
    inner = at
  }
  // What should have been an object may be the secret itself.
  return hasSecretPart(inner)
}

function findSchema(schema: JsonSchema, pointer: string): unknown {
  return parsePointer(pointer).reduce<unknown>(step, schema)
}

function findValue(value: unknown, pointer: string): unknown {
  return parsePointer(pointer).reduce<unknown>(step, value)
}

function step(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function joinOr(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
