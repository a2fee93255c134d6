import type { Endpoint } from '../../core/contracts/registry.ts'
import { schemaOf } from '../../sdk/schema/endpoint-schema.ts'
import type { JsonSchema } from '../../sdk/schema/json-schema.ts'
import { isTooDeep } from '../json/json-levels.ts'

type Side = 'request' | 'response'
/** Returns the value of a keyword if it is valid, else undefined. */
type Sanitizer = (value: unknown, depth: number) => unknown

/** Maximum depth; deeper schemas accept any value. */
const MAX_DEPTH = 100

/**
 * Schema of an endpoint's messages, sanitized because services may publish anything. Drops keywords with invalid
 * values, such as an empty list of alternatives.
 */
export function readSchema(endpoint: Endpoint, side: Side): JsonSchema {
  return sanitizeSchema(findSchema(endpoint, side))
}

/** Schema as published if it can be displayed, else sanitized. */
export function describeSchema(endpoint: Endpoint, side: Side): JsonSchema {
  const isLong = isTooDeep(endpoint.metadata[`${side}Schema`] ?? '')
  return isLong ? readSchema(endpoint, side) : findSchema(endpoint, side)
}

/** Converts any JSON into a schema that is safe to traverse. */
export function sanitizeSchema(input: unknown): JsonSchema {
  return toSchema(input, 0)
}

function findSchema(endpoint: Endpoint, side: Side): JsonSchema {
  try {
    return schemaOf(endpoint, side)
  } catch {
    // The field descriptions are invalid or recursive.
    return {}
  }
}

function toSchema(input: unknown, depth: number): JsonSchema {
  if (!isObject(input) || depth > MAX_DEPTH) return {}
  const keywords = Object.entries(input).flatMap(([keyword, value]) => {
    const sanitize = Object.hasOwn(KEYWORDS, keyword)
      ? KEYWORDS[keyword as keyof JsonSchema]
      : undefined
    const sanitized = sanitize?.(value, depth + 1)
    return sanitized === undefined ? [] : [[keyword, sanitized] as const]
  })
  return Object.fromEntries(keywords)
}

const text: Sanitizer = (value) => (typeof value === 'string' ? value : undefined)
const number: Sanitizer = (value) => (Number.isFinite(value) ? value : undefined)
const flag: Sanitizer = (value) => (typeof value === 'boolean' ? value : undefined)
const texts: Sanitizer = (value) => {
  const strings = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  return strings.length === 0 ? undefined : strings
}
const value: Sanitizer = (value) => {
  try {
    return isTooDeep(JSON.stringify(value)) ? undefined : value
  } catch {
    return undefined
  }
}
const schemas: Sanitizer = (value, depth) =>
  Array.isArray(value) && value.length > 0 ? value.map((each) => toSchema(each, depth)) : undefined
const readNamed: Sanitizer = (value, depth) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toSchema(each, depth)]))
    : undefined

const KEYWORDS: Readonly<Record<keyof JsonSchema, Sanitizer>> = {
  type: (value) => text(value, 0) ?? texts(value, 0),
  ...{ title: text, description: text, format: text, contentEncoding: text, pattern: text },
  ...{ minimum: number, maximum: number, exclusiveMinimum: number, exclusiveMaximum: number },
  ...{
    multipleOf: number,
    minLength: number,
    maxLength: number,
    minItems: number,
    maxItems: number,
  },
  ...{ const: value, default: value, writeOnly: flag, required: texts, $ref: text },
  enum: (choices) => (Array.isArray(choices) && choices.length > 0 ? value(choices, 0) : undefined),
  ...{ properties: readNamed, patternProperties: readNamed, $defs: readNamed },
  ...{ prefixItems: schemas, anyOf: schemas, oneOf: schemas, allOf: schemas },
  additionalProperties: (value, depth) => flag(value, depth) ?? toSchema(value, depth),
  items: (value, depth) => schemas(value, depth) ?? toSchema(value, depth),
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
