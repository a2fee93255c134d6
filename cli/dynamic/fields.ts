import type { Endpoint, Value } from '../../core/contracts/registry.ts'
import { findOnly } from '../../sdk/schema/describe-message.ts'
import {
  type Definitions,
  definitionsOf,
  findDefinition,
  itemsOf,
  type JsonSchema,
  mapValuesOf,
  NO_DEFINITIONS,
  typesOf,
} from '../../sdk/schema/json-schema.ts'
import { isIntegerType } from '../../sdk/schema/parse-number.ts'

/** Of lists in lists, which a reference may make endless. */
const MAX_DEPTH = 8

/** A field of a request, as its flag has it. */
export interface Field {
  /** Names from the request on. */
  readonly path: readonly string[]
  /** As the registry tells it: `string`, `[]int64`, `map[string]string`, a message. */
  readonly type: string
  /** Whether its integers must be exact as JSON numbers, ±(2^53 - 1): JSON Schema's `integer` without a format. */
  readonly isSafeInteger: boolean
  /** Whether it must be there, and nothing stands in for it. */
  readonly isRequired: boolean
  /** Undefined: there is none. */
  readonly default: unknown
  readonly description: string
  /** The only values there are; empty: any of the type. */
  readonly choices: readonly unknown[]
  /** Of a message; empty: it is none, or nothing is known of it. */
  readonly fields: readonly Field[]
}

interface Known {
  readonly schema: JsonSchema
  readonly definitions: Definitions
}

/** The fields of an endpoint's request, nested. */
export function toFields({ request, metadata }: Endpoint): readonly Field[] {
  const schema = parseSchema(metadata['requestSchema'])
  return toNested(request.values, resolve(schema, NO_DEFINITIONS), [])
}

/** The fields that have flags of their own: those of messages in place of the messages. */
export function toLeaves(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => (field.fields.length === 0 ? [field] : toLeaves(field.fields)))
}

/** `--options_domain` (specification: Dynamic commands). */
export function toFlag({ path }: Pick<Field, 'path'>): string {
  return `--${path.join('_')}`
}

function toNested(
  values: readonly Value[],
  { schema, definitions }: Known,
  outer: readonly string[],
): readonly Field[] {
  const { required = [] } = schema
  return values.map(({ name, type, values: inner }) => {
    const path = [...outer, name]
    const known = resolve(schema.properties?.[name] ?? {}, definitions)
    const { description = '', enum: choices, const: only, anyOf, oneOf } = known.schema
    const fallback = known.schema.default
    const isMessage = !/^(?:\[\]|map\[)/.test(type)
    return {
      ...{ path, type, description },
      isSafeInteger: isSafeInteger(known),
      isRequired: required.includes(name) && fallback === undefined,
      default: fallback,
      choices: choices ?? (only === undefined ? toConstants(anyOf ?? oneOf ?? []) : [only]),
      fields: isMessage ? toNested(inner, known, path) : [],
    }
  })
}

/** Also of the items of a list and the values of a map. */
function isSafeInteger({ schema, definitions }: Known, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  const inner = itemsOf(schema) ?? mapValuesOf(schema) ?? findOnly(schema)
  if (inner !== undefined) return isSafeInteger(resolve(inner, definitions), depth + 1)
  const types = typesOf(schema)
  return types.includes('integer') && !types.includes('string') && !isIntegerType(schema.format)
}

/** Of a union of literals, each; of any other none. */
function toConstants(options: readonly JsonSchema[]): readonly unknown[] {
  return options.every((option) => 'const' in option) ? options.map((option) => option.const) : []
}

function parseSchema(text: string | undefined): JsonSchema {
  try {
    const schema: unknown = JSON.parse(text ?? '{}')
    return typeof schema === 'object' && schema !== null ? schema : {}
  } catch {
    // Flags go by the fields the registry tells; what the schema adds is missing.
    return {}
  }
}

/** Follows one reference: deeper ones are rare, and only descriptions are lost with them. */
function resolve(schema: JsonSchema, outer: Definitions): Known {
  const definitions = definitionsOf(schema, outer)
  if (schema.$ref === undefined) return { schema, definitions }
  const target = findDefinition(schema.$ref, definitions) ?? {}
  return { schema: target, definitions: definitionsOf(target, definitions) }
}
