/** The JSON Schema keywords used here; other keywords are passed through. */
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

/** Targets of `$ref`: the definitions of all enclosing schemas. */
export type Definitions = Readonly<Record<string, JsonSchema>>

export const NO_DEFINITIONS: Definitions = Object.freeze({})

/** Definitions in scope of `schema`. */
export function definitionsOf(schema: JsonSchema, outer: Definitions): Definitions {
  return schema.$defs === undefined ? outer : { ...outer, ...schema.$defs }
}

/** Schema of a reference: `Name`, as written by TypeBox, or `#/$defs/Name`; undefined for other references. */
export function findDefinition(ref: string, definitions: Definitions): JsonSchema | undefined {
  const name = decodeKey(ref.slice(ref.lastIndexOf('/') + 1))
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

/** A schema and the definitions in its scope. */
export interface ResolvedSchema {
  readonly schema: JsonSchema
  readonly definitions: Definitions
}

/** Maximum length of a reference chain. */
const MAX_REFS = 6

/** Resolves references. Missing and circular references result in an empty schema. */
export function followRefs(raw: JsonSchema, outer: Definitions): ResolvedSchema {
  let schema = raw
  let definitions = definitionsOf(schema, outer)
  for (let i = 0; schema.$ref !== undefined; i++) {
    const target = i < MAX_REFS ? findDefinition(schema.$ref, definitions) : undefined
    if (target === undefined) return { schema: {}, definitions }
    schema = target
    definitions = definitionsOf(schema, definitions)
  }
  return { schema, definitions }
}

/** Schemas of the leading items of a tuple; empty for a plain array. */
export function tupleItemsOf(schema: JsonSchema): readonly JsonSchema[] {
  if (schema.prefixItems !== undefined) return schema.prefixItems
  return Array.isArray(schema.items) ? schema.items : []
}

/** Schema of the remaining items of an array. */
export function itemsOf(schema: JsonSchema): JsonSchema | undefined {
  return Array.isArray(schema.items) || typeof schema.items !== 'object'
    ? undefined
    : (schema.items as JsonSchema)
}

/** Schema of the values of a map: an object without named properties. */
export function mapValuesOf(schema: JsonSchema): JsonSchema | undefined {
  const patterns = Object.values(schema.patternProperties ?? {})
  if (patterns.length > 0) return patterns[0]
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** Types of a schema: none, one or several. */
export function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.type === undefined) return []
  return typeof schema.type === 'string' ? [schema.type] : schema.type
}

/** Segments of a JSON pointer, `/a/b` or `#/a/b` (RFC 6901). */
export function parsePointer(pointer: string): string[] {
  return pointer.split('/').slice(1).map(decodeKey)
}

/** RFC 6901 §4. */
function decodeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
