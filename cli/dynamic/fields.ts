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

/** Nesting limit of lists, because references may be recursive. */
const MAX_DEPTH = 8

/** A request field that is set by a flag. */
export interface Field {
  /** Field names, outermost first. */
  readonly path: readonly string[]
  /** Registry type, such as `string`, `[]int64`, `map[string]string`, or a message. */
  readonly type: string
  /** True if integers are limited to ±(2^53 - 1), as for JSON Schema's `integer` without a format. */
  readonly isSafeInteger: boolean
  /** True if it is required and has no default. */
  readonly isRequired: boolean
  readonly default: unknown
  readonly description: string
  /** Allowed values; empty if any value of the type is allowed. */
  readonly choices: readonly unknown[]
  /** Fields of a message; empty for other types and unknown messages. */
  readonly fields: readonly Field[]
}

interface ResolvedSchema {
  readonly schema: JsonSchema
  readonly definitions: Definitions
}

/** Request fields of an endpoint, nested. */
export function toFields({ request, metadata }: Endpoint): readonly Field[] {
  const schema = parseSchema(metadata['requestSchema'])
  return toNested(request.values, resolve(schema, NO_DEFINITIONS), [])
}

/** Fields with messages replaced by their fields. */
export function toLeaves(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => (field.fields.length === 0 ? [field] : toLeaves(field.fields)))
}

/** Flag of a field, such as `--options_domain` (specification: Dynamic commands). */
export function toFlag({ path }: Pick<Field, 'path'>): string {
  return `--${path.join('_')}`
}

function toNested(
  values: readonly Value[],
  { schema, definitions }: ResolvedSchema,
  outer: readonly string[],
): readonly Field[] {
  const { required = [] } = schema
  return values.map(({ name, type, values: inner }) => {
    const path = [...outer, name]
    const resolved = resolve(schema.properties?.[name] ?? {}, definitions)
    const { description = '', enum: choices, const: only, anyOf, oneOf } = resolved.schema
    const fallback = resolved.schema.default
    const isMessage = !/^(?:\[\]|map\[)/.test(type)
    return {
      ...{ path, type, description },
      isSafeInteger: isSafeInteger(resolved),
      isRequired: required.includes(name) && fallback === undefined,
      default: fallback,
      choices: choices ?? (only === undefined ? toConstants(anyOf ?? oneOf ?? []) : [only]),
      fields: isMessage ? toNested(inner, resolved, path) : [],
    }
  })
}

/** Includes items of lists and values of maps. */
function isSafeInteger({ schema, definitions }: ResolvedSchema, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  const inner = itemsOf(schema) ?? mapValuesOf(schema) ?? findOnly(schema)
  if (inner !== undefined) return isSafeInteger(resolve(inner, definitions), depth + 1)
  const types = typesOf(schema)
  return types.includes('integer') && !types.includes('string') && !isIntegerType(schema.format)
}

/** Literals of a union of literals; empty for any other union. */
function toConstants(options: readonly JsonSchema[]): readonly unknown[] {
  return options.every((option) => 'const' in option) ? options.map((option) => option.const) : []
}

function parseSchema(text: string | undefined): JsonSchema {
  try {
    const schema: unknown = JSON.parse(text ?? '{}')
    return typeof schema === 'object' && schema !== null ? schema : {}
  } catch {
    // Without a schema, flags are derived from the registry's fields.
    return {}
  }
}

/** Follows a single reference. Longer chains are rare, and only their descriptions are missing. */
function resolve(schema: JsonSchema, outer: Definitions): ResolvedSchema {
  const definitions = definitionsOf(schema, outer)
  if (schema.$ref === undefined) return { schema, definitions }
  const target = findDefinition(schema.$ref, definitions) ?? {}
  return { schema: target, definitions: definitionsOf(target, definitions) }
}
