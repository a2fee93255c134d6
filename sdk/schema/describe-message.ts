import type { Value } from '../../core/contracts/registry.ts'
import {
  type Definitions,
  followRefs,
  itemsOf,
  type JsonSchema,
  mapValuesOf,
  NO_DEFINITIONS,
  tupleItemsOf,
  typesOf,
} from './json-schema.ts'

/** Maximum depth of described fields (reference 6). */
const MAX_DEPTH = 6
/** Maximum depth of lists whose items are described individually. */
const MAX_PLACES_DEPTH = 1
/** Maximum number of fields per message, because references may multiply them. */
const MAX_VALUES = 1000

const INTEGERS: ReadonlySet<string | undefined> = new Set(['int32', 'int64', 'uint32', 'uint64'])
const LEAF: readonly Value[] = []

/**
 * Describes a message for the registry (specification: Value): name, type and, for messages, fields.
 *
 * Types are `string`, `bool`, `int64`, `double` (`int32`, `uint32`, `uint64`, `float` by the schema's `format`),
 * `bytes`, `[]T`, `map[string]T`, `any`, and the title of a message or `object`. A list or map of messages has the
 * fields of its message. Fields below the sixth level are omitted, since a schema may be recursive.
 *
 * @param schema schema of the message; undefined if there is no description.
 */
export function toValue(name: string, schema: JsonSchema | undefined): Value {
  if (schema === undefined) return { name, type: 'any', values: [] }
  const budget = { remaining: MAX_VALUES }
  const resolved = followRefs(schema, NO_DEFINITIONS)
  const values = toFields(resolved.schema, resolved.definitions, 1, budget)
  const type = toType(schema, NO_DEFINITIONS)
  return { name, type: type === 'object' ? name : type, values }
}

function toFields(
  schema: JsonSchema,
  outer: Definitions,
  depth: number,
  budget: { remaining: number },
): readonly Value[] {
  const message = findMessage(schema, outer)
  if (message === undefined || depth > MAX_DEPTH) return LEAF
  const values: Value[] = []
  for (const [name, field] of message.fields) {
    if (budget.remaining-- <= 0) break
    values.push({
      name,
      type: toType(field, message.definitions),
      values: toFields(field, message.definitions, depth + 1, budget),
    })
  }
  return values
}

interface Message {
  readonly fields: readonly (readonly [string, JsonSchema])[]
  readonly definitions: Definitions
}

/** Finds the message of a schema, or of its items or values. */
function findMessage(raw: JsonSchema, outer: Definitions): Message | undefined {
  const { schema, definitions } = followRefs(raw, outer)
  if (schema.properties !== undefined)
    return { fields: Object.entries(schema.properties), definitions }
  const inner = itemsOf(schema) ?? mapValuesOf(schema) ?? findOnly(schema)
  if (inner !== undefined && inner !== raw) return findMessage(inner, definitions)
  const fields = (schema.allOf ?? []).flatMap(
    (part) => findMessage(part, definitions)?.fields ?? [],
  )
  return fields.length === 0 ? undefined : { fields, definitions }
}

/** Registry type of a field, see {@link toValue}. */
export function toType(raw: JsonSchema, outer: Definitions, depth = 0): string {
  const { schema, definitions } = followRefs(raw, outer)
  if (depth > MAX_DEPTH) return 'any'
  const only = findOnly(schema)
  if (only !== undefined) return toType(only, definitions, depth + 1)
  const choices = [...('const' in schema ? [schema.const] : []), ...(schema.enum ?? [])]
  if (choices.length > 0) return toChoiceType(choices)
  const types = typesOf(schema).filter((type) => type !== 'null')
  if (types.includes('integer')) return INTEGERS.has(schema.format) ? schema.format! : 'int64'
  if (types.length > 1) return 'any'
  switch (types[0] ?? ((schema.properties ?? schema.allOf) ? 'object' : undefined)) {
    case 'string':
      return schema.contentEncoding === 'base64' ? 'bytes' : 'string'
    case 'boolean':
      return 'bool'
    case 'number':
      return schema.format === 'float' ? 'float' : 'double'
    case 'array':
      return `[]${toItemType(schema, definitions, depth + 1)}`
    case 'object': {
      const values = schema.properties === undefined ? mapValuesOf(schema) : undefined
      if (values !== undefined) return `map[string]${toType(values, definitions, depth + 1)}`
      return schema.title ?? 'object'
    }
    default:
      return 'any'
  }
}

function toItemType(schema: JsonSchema, definitions: Definitions, depth: number): string {
  // Nested lists could multiply the number of fields.
  if (depth > MAX_PLACES_DEPTH && tupleItemsOf(schema).length > 1) return 'any'
  const items = itemsOf(schema)
  const kinds = new Set(
    [...tupleItemsOf(schema), ...(items === undefined ? [] : [items])].map((item) =>
      toType(item, definitions, depth),
    ),
  )
  return kinds.size === 1 ? [...kinds][0]! : 'any'
}

function toChoiceType(values: readonly unknown[]): string {
  const kinds = new Set(values.map((value) => typeof value))
  if (kinds.size !== 1) return 'any'
  if (kinds.has('string')) return 'string'
  if (kinds.has('boolean')) return 'bool'
  if (kinds.has('number')) return values.every(Number.isInteger) ? 'int64' : 'double'
  return 'any'
}

/** The alternative that determines the type: the only non-null one, or the first if all are of the same kind. */
export function findOnly({ anyOf, oneOf }: JsonSchema): JsonSchema | undefined {
  const options = (anyOf ?? oneOf)?.filter((option) => option.type !== 'null')
  if (options === undefined || options.length === 0) return undefined
  if (options.length === 1) return options[0]
  if (options.every((option) => 'const' in option))
    return { enum: options.map((option) => option.const) }
  return undefined
}
