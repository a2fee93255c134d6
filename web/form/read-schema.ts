import type { Endpoint } from '../../core/contracts/registry.ts'
import { schemaOf } from '../../sdk/schema/endpoint-schema.ts'
import type { JsonSchema } from '../../sdk/schema/json-schema.ts'
import { isTooDeep } from '../json/json-levels.ts'

type Side = 'request' | 'response'
type Keep = (value: unknown, depth: number) => unknown

/** Levels of a schema that are read; what is below says nothing. */
const MAX_DEPTH = 100

/**
 * The schema of an endpoint's messages as far as it is one: services may tell anything. A keyword whose value is none of it, such as
 * an empty list of alternatives, is left out; what is no schema says nothing.
 */
export function readSchema(endpoint: Endpoint, side: Side): JsonSchema {
  return tidySchema(findSchema(endpoint, side))
}

/** The same as the service tells it, where that can be shown. */
export function describeSchema(endpoint: Endpoint, side: Side): JsonSchema {
  const isLong = isTooDeep(endpoint.metadata[`${side}Schema`] ?? '')
  return isLong ? readSchema(endpoint, side) : findSchema(endpoint, side)
}

/** Any JSON as a schema that is safe to walk over. */
export function tidySchema(given: unknown): JsonSchema {
  return toSchema(given, 0)
}

function findSchema(endpoint: Endpoint, side: Side): JsonSchema {
  try {
    return schemaOf(endpoint, side)
  } catch {
    // Fields that are none, or without end.
    return {}
  }
}

function toSchema(given: unknown, depth: number): JsonSchema {
  if (!isObject(given) || depth > MAX_DEPTH) return {}
  const kept = Object.entries(given).flatMap(([keyword, value]) => {
    const keep = Object.hasOwn(KEYWORDS, keyword)
      ? KEYWORDS[keyword as keyof JsonSchema]
      : undefined
    const left = keep?.(value, depth + 1)
    return left === undefined ? [] : [[keyword, left] as const]
  })
  return Object.fromEntries(kept)
}

const text: Keep = (value) => (typeof value === 'string' ? value : undefined)
const number: Keep = (value) => (Number.isFinite(value) ? value : undefined)
const flag: Keep = (value) => (typeof value === 'boolean' ? value : undefined)
const texts: Keep = (value) => {
  const kept = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  return kept.length === 0 ? undefined : kept
}
/** A value of JSON, as it is. */
const value: Keep = (value) => {
  try {
    return isTooDeep(JSON.stringify(value)) ? undefined : value
  } catch {
    return undefined
  }
}
const schemas: Keep = (value, depth) =>
  Array.isArray(value) && value.length > 0 ? value.map((each) => toSchema(each, depth)) : undefined
const named: Keep = (value, depth) =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toSchema(each, depth)]))
    : undefined

/** What is kept of each keyword. */
const KEYWORDS: Readonly<Record<keyof JsonSchema, Keep>> = {
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
  enum: (given) => (Array.isArray(given) && given.length > 0 ? value(given, 0) : undefined),
  ...{ properties: named, patternProperties: named, $defs: named },
  ...{ prefixItems: schemas, anyOf: schemas, oneOf: schemas, allOf: schemas },
  additionalProperties: (value, depth) => flag(value, depth) ?? toSchema(value, depth),
  items: (value, depth) => schemas(value, depth) ?? toSchema(value, depth),
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
