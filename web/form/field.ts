import { findOnly, toType } from '../../sdk/schema/describe-message.ts'
import {
  type Definitions,
  followRefs,
  itemsOf,
  type JsonSchema,
  mapValuesOf,
  NO_DEFINITIONS,
  placesOf,
  typesOf,
} from '../../sdk/schema/json-schema.ts'

/**
 * What a field is filled in by.
 *
 * `object` and `tuple` have parts of their own, `list` and `map` as many as are added, `union` is one of its parts; `json` is
 * what no schema says more about.
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

/** One place of a form. */
export interface Field {
  readonly kind: FieldKind
  /** Of the property; empty: it has none. */
  readonly name: string
  /** As the registry tells it: `string`, `[]int64`, a message. */
  readonly type: string
  readonly description: string
  readonly isRequired: boolean
  /** Whether it may be `null`. */
  readonly isNullable: boolean
  /** Not shown while it is typed, and kept nowhere. */
  readonly isSecret: boolean
  /** What stands for it where it is left out; undefined: nothing. */
  readonly default: unknown
  /** Of a `choice`. */
  readonly choices: readonly unknown[]
  /** Bounds and format. */
  readonly schema: JsonSchema
  /** Fields of an `object`, places of a `tuple`, alternatives of a `union`. Made when asked for: a schema may contain itself. */
  readonly parts: readonly Field[]
  /** What a `list` or the values of a `map` are; undefined: it is neither. */
  readonly item: Field | undefined
}

interface Place {
  readonly name: string
  readonly isRequired: boolean
  /** Known already: an alternative beside it is `null`. */
  readonly isNullable: boolean
}

const UNNAMED: Place = { name: '', isRequired: true, isNullable: false }

/** Alternatives that are the only one of another, at most: a schema may lead back to itself. */
const MAX_ONLY = 32

/** The form of a message. */
export function toField(schema: JsonSchema): Field {
  return create(schema, NO_DEFINITIONS, UNNAMED)
}

function create(given: JsonSchema, outer: Definitions, place: Place, hops = 0): Field {
  const { schema: found, definitions } = followRefs(given, outer)
  // What stands beside a reference is about this place.
  const schema = given.$ref === undefined ? found : { ...found, ...textsOf(given) }
  const only = findOnly(schema)
  const alternatives = schema.anyOf ?? schema.oneOf ?? []
  const isNullable = place.isNullable || alternatives.some(isNull)
  if (only !== undefined) {
    const inner = hops < MAX_ONLY ? { ...only, ...textsOf(schema) } : {}
    return create(inner, definitions, { ...place, isNullable }, hops + 1)
  }
  const plain = schema.allOf === undefined ? schema : merge(schema, definitions)
  const types = typesOf(plain).filter((type) => type !== 'null')
  const kind = toKind(plain, types)
  const { description = '', writeOnly = false } = plain
  let parts: readonly Field[] | undefined
  let item: Field | undefined
  return {
    kind,
    name: place.name,
    isRequired: place.isRequired,
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
  // How JSON has 64 bits: a number or digits.
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
  if (placesOf(schema).length === 0) return 'list'
  return itemsOf(schema) === undefined ? 'tuple' : 'json'
}

/** An object of any names, with any values, is typed as JSON. */
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
      return placesOf(schema).map((inner) => create(inner, definitions, UNNAMED))
    case 'union': {
      const { anyOf, oneOf, ...rest } = schema
      const given = anyOf ?? oneOf
      const options = given ?? types.map((type): JsonSchema => ({ ...rest, type }))
      return options
        .filter((option) => !isNull(option))
        .map((inner) => create(inner, definitions, UNNAMED))
    }
    default:
      return []
  }
}

/** All parts of an `allOf` hold: their fields are those of one object. */
function merge(schema: JsonSchema, outer: Definitions): JsonSchema {
  const { allOf = [], ...own } = schema
  const parts = allOf.map((part) => followRefs(part, outer))
  const all = [own, ...parts.map(({ schema }) => schema)]
  const $defs = Object.assign({}, outer, ...parts.map(({ definitions }) => definitions))
  return {
    ...Object.assign({}, ...all.toReversed()),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required = [] }) => required),
    type: 'object',
    $defs,
  }
}

/** What a schema says of the place it is in. */
function textsOf({ description, default: fallback, writeOnly }: JsonSchema): JsonSchema {
  return {
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
    ...(writeOnly !== undefined && { writeOnly }),
  }
}
