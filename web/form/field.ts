import { findOnly, toType } from '../../sdk/schema/describe-message.ts'
import {
  type Definitions,
  followRefs,
  itemsOf,
  type JsonSchema,
  mapValuesOf,
  NO_DEFINITIONS,
  tupleItemsOf,
  typesOf,
} from '../../sdk/schema/json-schema.ts'

/**
 * Kind of a form field.
 *
 * `object` and `tuple` have fixed parts, `list` and `map` have items, and `union` is one of its parts. `json` is a
 * value without a usable schema.
 */
export type FieldKind =
  | 'boolean'
  | 'bytes'
  | 'choice'
  | 'integer'
  | 'json'
  | 'list'
  | 'map'
  | 'null'
  | 'number'
  | 'object'
  | 'text'
  | 'tuple'
  | 'union'

/** Form field of a schema. */
export interface Field {
  readonly kind: FieldKind
  /** Property name; empty for items and alternatives. */
  readonly name: string
  /** Type in registry notation: `string`, `[]int64`, or a message. */
  readonly type: string
  readonly description: string
  readonly isRequired: boolean
  readonly isNullable: boolean
  /** True if the value is masked on input and never stored. */
  readonly isSecret: boolean
  readonly default: unknown
  /** Allowed values of a `choice`. */
  readonly choices: readonly unknown[]
  /** Schema with constraints and format. */
  readonly schema: JsonSchema
  /** Fields of an `object` or `tuple`, or alternatives of a `union`. Lazy, because a schema may be recursive. */
  readonly parts: readonly Field[]
  /** Item of a `list`, or value of a `map`. */
  readonly item: Field | undefined
}

interface Context {
  readonly name: string
  readonly isRequired: boolean
  /** True if the enclosing schema has `null` as an alternative. */
  readonly isNullable: boolean
}

const UNNAMED: Context = { name: '', isRequired: true, isNullable: false }

/** Maximum number of nested single alternatives, because a schema may be recursive. */
const MAX_HOPS = 32

/** Creates the form of a message. */
export function toField(schema: JsonSchema): Field {
  return create(schema, NO_DEFINITIONS, UNNAMED)
}

function create(input: JsonSchema, outer: Definitions, context: Context, hops = 0): Field {
  const { schema: target, definitions } = followRefs(input, outer)
  // Annotations next to a reference override annotations of its target.
  const schema = input.$ref === undefined ? target : { ...target, ...annotationsOf(input) }
  const only = findOnly(schema)
  const alternatives = schema.anyOf ?? schema.oneOf ?? []
  const isNullable = context.isNullable || alternatives.some(isNull)
  if (only !== undefined) {
    const inner = hops < MAX_HOPS ? { ...only, ...annotationsOf(schema) } : {}
    return create(inner, definitions, { ...context, isNullable }, hops + 1)
  }
  const plain = schema.allOf === undefined ? schema : merge(schema, definitions)
  const types = typesOf(plain).filter((type) => type !== 'null')
  const kind = toKind(plain, types)
  const { description = '', writeOnly = false } = plain
  let parts: readonly Field[] | undefined
  let item: Field | undefined
  return {
    kind,
    name: context.name,
    isRequired: context.isRequired,
    type: toType(plain, definitions),
    description,
    isNullable: kind !== 'null' && (isNullable || typesOf(plain).includes('null')),
    isSecret: writeOnly,
    default: plain.default,
    choices: choicesOf(plain),
    schema: plain,
    get parts() {
      parts ??= toParts(kind, plain, types, definitions)
      return parts
    },
    get item() {
      const inner = kind === 'list' ? (itemsOf(plain) ?? {}) : mapValuesOf(plain)
      if (kind === 'list' || kind === 'map') item ??= create(inner ?? {}, definitions, UNNAMED)
      return item
    },
  }
}

function toKind(schema: JsonSchema, types: readonly string[]): FieldKind {
  if (choicesOf(schema).length > 0) return 'choice'
  const options = schema.anyOf ?? schema.oneOf
  if (options !== undefined) return options.every(isNull) ? 'null' : 'union'
  // 64-bit integers are numbers or strings of digits in JSON.
  if (types.includes('integer') && types.every((type) => type === 'integer' || type === 'string'))
    return types.length === 1 || schema.format !== undefined ? 'integer' : 'union'
  if (types.length > 1) return 'union'
  switch (types[0]) {
    case 'string':
      return schema.contentEncoding === 'base64' ? 'bytes' : 'text'
    case 'number':
    case 'boolean':
      return types[0]
    case 'array':
      return toArrayKind(schema)
    case 'object':
      return toObjectKind(schema)
    default:
      if (schema.properties !== undefined) return 'object'
      return schema.type === 'null' ? 'null' : 'json'
  }
}

function toArrayKind(schema: JsonSchema): FieldKind {
  if (tupleItemsOf(schema).length === 0) return 'list'
  return itemsOf(schema) === undefined ? 'tuple' : 'json'
}

/** Objects with arbitrary names and values are entered as JSON. */
function toObjectKind(schema: JsonSchema): FieldKind {
  if (Object.keys(schema.properties ?? {}).length > 0) return 'object'
  if (mapValuesOf(schema) !== undefined) return 'map'
  return schema.properties !== undefined || schema.additionalProperties === false
    ? 'object'
    : 'json'
}

function isNull({ type }: JsonSchema): boolean {
  return type === 'null'
}

function choicesOf(schema: JsonSchema): readonly unknown[] {
  return 'const' in schema ? [schema.const] : (schema.enum ?? [])
}

function toParts(
  kind: FieldKind,
  schema: JsonSchema,
  types: readonly string[],
  definitions: Definitions,
): readonly Field[] {
  switch (kind) {
    case 'object':
      return Object.entries(schema.properties ?? {}).map(([name, inner]) =>
        create(inner, definitions, {
          name,
          isRequired: schema.required?.includes(name) ?? false,
          isNullable: false,
        }),
      )
    case 'tuple':
      return tupleItemsOf(schema).map((inner) => create(inner, definitions, UNNAMED))
    case 'union': {
      const { anyOf, oneOf, ...otherKeywords } = schema
      const options =
        anyOf ?? oneOf ?? types.map((type): JsonSchema => ({ ...otherKeywords, type }))
      return options
        .filter((option) => !isNull(option))
        .map((inner) => create(inner, definitions, UNNAMED))
    }
    default:
      return []
  }
}

/** Merges the parts of an `allOf` into one object. */
function merge(schema: JsonSchema, outer: Definitions): JsonSchema {
  const { allOf = [], ...base } = schema
  const parts = allOf.map((part) => followRefs(part, outer))
  const all = [base, ...parts.map(({ schema }) => schema)]
  const $defs = Object.assign({}, outer, ...parts.map(({ definitions }) => definitions))
  return {
    ...Object.assign({}, ...all.toReversed()),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required = [] }) => required),
    type: 'object',
    $defs,
  }
}

/** Annotations that apply to the place where a schema is used rather than to its type. */
function annotationsOf({ description, default: fallback, writeOnly }: JsonSchema): JsonSchema {
  return {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    ...(writeOnly !== undefined && { writeOnly }),
  }
}
