import type { TLocalizedValidationError } from '../../core/schema.ts'
import { inspectShort } from '../../lib/text/inspect.ts'
import { hasSecretPart } from '../../lib/text/redact.ts'
import { type JsonSchema, parsePointer, typesOf } from './json-schema.ts'

/** A value that does not match its schema. An expected error, so it has no stack. */
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
/** Maximum number of listed alternatives. */
const MAX_LISTED = 10

/** Appends a dot or brackets for each segment to `root`. Long keys, which callers control, are truncated. */
export function formatKeyPath(root: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((path, key) => {
    const text = String(key)
    if (typeof key === 'number' || INDEX.test(text)) return `${path}[${text}]`
    return PLAIN_KEY.test(text) && text.length <= MAX_KEY_CHARS
      ? `${path}.${text}`
      : `${path}[${inspectShort(text)}]`
  }, root)
}

/**
 * Describes a validation error: path of the first invalid field, requirement and actual value (reference 15.10).
 *
 * @param root first part of the path, such as `request`.
 * @param errors TypeBox errors in order, at most eight.
 */
export function describeErrors(
  root: string,
  schema: JsonSchema,
  value: unknown,
  errors: readonly TLocalizedValidationError[],
): string {
  // An unknown field is reported twice: once for the schema `false`, and more precisely for its object.
  const relevant = errors.filter(({ keyword }) => keyword !== 'boolean')
  const first = relevant[0]
  if (first === undefined) return `${root} does not match its schema`
  const union = findUnion(first, relevant)
  return union === undefined
    ? describe(root, schema, value, first)
    : describeUnion(root, schema, value, union, relevant)
}

function describe(
  root: string,
  schema: JsonSchema,
  value: unknown,
  error: TLocalizedValidationError,
): string {
  const keys = parsePointer(error.instancePath)
  const path = formatKeyPath(root, keys)
  if (error.keyword === 'required')
    return `${formatKeyPath(root, [...keys, error.params.requiredProperties[0] ?? ''])} is missing`
  if (error.keyword === 'additionalProperties')
    return `${formatKeyPath(root, [...keys, error.params.additionalProperties[0] ?? ''])} is an unknown field`
  return `${path} ${toRequirement(error)}, got ${showAt(schema, value, error)}`
}

function toRequirement(error: TLocalizedValidationError): string {
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

/** The outermost union that the error belongs to. */
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

/** Describes a value that matches none of several alternatives, as a single error. */
function describeUnion(
  root: string,
  schema: JsonSchema,
  value: unknown,
  union: TLocalizedValidationError,
  errors: readonly TLocalizedValidationError[],
): string {
  const options = findSchema(schema, `${union.schemaPath}/${union.keyword}`)
  const list = (Array.isArray(options) ? options : []) as readonly JsonSchema[]
  const actual = findValue(value, union.instancePath)
  if (typeof actual === 'object' && actual !== null) {
    const fitting = list.findIndex((option) => typesOf(option).includes(typeOf(actual)))
    const isOnly = list.filter((option) => typesOf(option).includes(typeOf(actual))).length === 1
    const inside = `${union.schemaPath}/${union.keyword}/${fitting}`
    const error = errors.find(({ schemaPath }) => `${schemaPath}/`.startsWith(`${inside}/`))
    if (isOnly && error !== undefined) return describe(root, schema, value, error)
  }
  const path = formatKeyPath(root, parsePointer(union.instancePath))
  const alternatives = [...new Set(list.map(toAlternative))]
  const shownValue = showAt(schema, value, union)
  return alternatives.length === 0 || alternatives.length > MAX_LISTED
    ? `${path} matches none of its alternatives, got ${shownValue}`
    : alternatives.length < list.length && typeOf(actual) === 'object'
      ? `${path} must be ${joinOr(alternatives)} that matches one of its variants, got ${shownValue}`
      : `${path} must be ${joinOr(alternatives)}, got ${shownValue}`
}

function toAlternative(option: JsonSchema): string {
  if ('const' in option) return inspectShort(option.const)
  if (option.enum !== undefined) return joinOr(option.enum.map(inspectShort))
  const types = typesOf(option)
  return types.length === 0 ? 'a value of a different type' : joinOr(types.map(withArticle))
}

/** Shows the invalid value, or only its type if the schema marks all or part of it as secret. */
function showAt(schema: JsonSchema, value: unknown, error: TLocalizedValidationError): string {
  const actual = findValue(value, error.instancePath)
  if (isSecret(schema, error.schemaPath)) return typeOf(actual)
  if (typeof actual === 'bigint') return String(actual)
  try {
    return inspectShort(actual)
  } catch {
    return typeOf(actual)
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
  // The invalid object may itself be the secret.
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
