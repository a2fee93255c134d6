/** A JSON Schema as this program reads it: the keywords it looks at, the others untouched. */
export interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly format?: string
  readonly contentEncoding?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly writeOnly?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema | readonly JsonSchema[]
  readonly prefixItems?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
}

/** What `$ref` may name: the definitions of the schemas around it. */
export type Definitions = Readonly<Record<string, JsonSchema>>

export const NO_DEFINITIONS: Definitions = Object.freeze({})

/** The definitions seen from inside `schema`. */
export function definitionsOf(schema: JsonSchema, outer: Definitions): Definitions {
  return schema.$defs === undefined ? outer : { ...outer, ...schema.$defs }
}

/** The schema `ref` names: `Name`, as TypeBox writes it, or `#/$defs/Name`; undefined: something else. */
export function findDefinition(ref: string, definitions: Definitions): JsonSchema | undefined {
  const name = decodeKey(ref.slice(ref.lastIndexOf('/') + 1))
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

/** A schema, and what references inside of it may name. */
export interface ResolvedSchema {
  readonly schema: JsonSchema
  readonly definitions: Definitions
}

/** References that lead on to references, at most. */
const MAX_REFS = 6

/** Follows references; one that leads nowhere, or in a circle, is a schema that says nothing. */
export function followRefs(given: JsonSchema, outer: Definitions): ResolvedSchema {
  let schema = given
  let definitions = definitionsOf(schema, outer)
  for (let i = 0; schema.$ref !== undefined; i++) {
    const target = i < MAX_REFS ? findDefinition(schema.$ref, definitions) : undefined
    if (target === undefined) return { schema: {}, definitions }
    schema = target
    definitions = definitionsOf(schema, definitions)
  }
  return { schema, definitions }
}

/** The schemas of an array's first places; empty where all items are alike. */
export function placesOf(schema: JsonSchema): readonly JsonSchema[] {
  if (schema.prefixItems !== undefined) return schema.prefixItems
  return Array.isArray(schema.items) ? schema.items : []
}

/** The schema of an array's other items. */
export function itemsOf(schema: JsonSchema): JsonSchema | undefined {
  return Array.isArray(schema.items) || typeof schema.items !== 'object'
    ? undefined
    : (schema.items as JsonSchema)
}

/** The schema of the values of a map: an object without names of its own. */
export function mapValuesOf(schema: JsonSchema): JsonSchema | undefined {
  const patterns = Object.values(schema.patternProperties ?? {})
  if (patterns.length > 0) return patterns[0]
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** The types a schema names itself: none, one or several. */
export function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.type === undefined) return []
  return typeof schema.type === 'string' ? [schema.type] : schema.type
}

/** Steps of a JSON pointer, `/a/b` or `#/a/b` (RFC 6901). */
export function parsePointer(pointer: string): string[] {
  return pointer.split('/').slice(1).map(decodeKey)
}

/** RFC 6901 §4. */
function decodeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
