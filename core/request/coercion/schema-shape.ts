import type { JsonObject, JsonValue } from '../json/json.ts'
import {
  ANY,
  BOOLEAN,
  NULL,
  NUMBER,
  SAFE_INTEGER,
  SIZED_INTEGERS,
  STRING,
} from './scalar-shapes.ts'
import type { Shape } from './shape.ts'

/** Maximum depth of a schema; deeper parts accept any value. */
const MAX_DEPTH = 64
/** Maximum number of schema parts, since references can multiply them beyond the length of the text. */
const MAX_PARTS = 10_000

const SCALARS: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['string', STRING],
  ['number', NUMBER],
  ['boolean', BOOLEAN],
  ['null', NULL],
  // TypeBox's name for integers of any size.
  ['bigint', SIZED_INTEGERS.get('int64')!],
])

/**
 * Converts a JSON Schema (2020-12, and the older forms of lists and definitions) to a shape.
 *
 * Supports `type`, `format` for integers (`int32`, `int64`, `uint32`, `uint64`), `properties`, `additionalProperties`,
 * `items`, `prefixItems`, `enum`, `const`, `anyOf`, `oneOf`, `allOf` and `$ref` within the schema. Other keywords
 * restrict values, which the service checks. Returns undefined if the text is not a schema.
 */
export function parseSchema(text: string): Shape | undefined {
  let schema: JsonValue
  try {
    schema = JSON.parse(text)
  } catch {
    return undefined
  }
  return isObject(schema) ? new SchemaReader(schema).read(schema, 0) : undefined
}

/** Definitions in the scope of a schema, including definitions of enclosing schemas. */
interface Scope {
  readonly definitions: JsonObject
  readonly outer: Scope | undefined
}

class SchemaReader {
  readonly #root: JsonObject
  /** Shapes of objects, lists and unions by schema, since schemas may be recursive. */
  readonly #shapes = new Map<JsonObject, Shape>()
  #parts = 0

  constructor(root: JsonObject) {
    this.#root = root
  }

  read(schema: JsonValue | undefined, depth: number, outer?: Scope): Shape {
    if (!isObject(schema) || depth > MAX_DEPTH || ++this.#parts > MAX_PARTS) return ANY
    const known = this.#shapes.get(schema)
    if (known !== undefined) return known
    const definitions = schema['$defs'] ?? schema['definitions']
    const scope = isObject(definitions) ? { definitions, outer } : outer
    const reference = schema['$ref']
    if (typeof reference === 'string')
      return this.read(this.#find(reference, scope), depth + 1, scope)
    if (schema['const'] !== undefined) return { kind: 'enum', values: [schema['const']] }
    const values = schema['enum']
    if (Array.isArray(values)) return { kind: 'enum', values }
    const options = schema['anyOf'] ?? schema['oneOf']
    if (Array.isArray(options)) return this.#readUnion(options, schema, depth, scope)
    const parts = schema['allOf']
    if (Array.isArray(parts)) return this.#readAll(parts, schema, depth, scope)
    const { type } = schema
    if (!Array.isArray(type)) return this.#readType(type, schema, depth, scope)
    // 64-bit integers in JSON (ProtoJSON) are numbers or strings of digits.
    const sized = toSized(schema)
    if (sized !== undefined && type.includes('integer') && type.includes('string')) return sized
    const typed = type.map((type) => ({ ...schema, type }))
    return this.#readUnion(typed, schema, depth, scope)
  }

  #readType(
    type: JsonValue | undefined,
    schema: JsonObject,
    depth: number,
    scope: Scope | undefined,
  ): Shape {
    if (type === 'integer') return toSized(schema) ?? SAFE_INTEGER
    if (type === 'array' || (type === undefined && schema['items'] !== undefined))
      return this.#readList(schema, depth, scope)
    if (type === 'object' || (type === undefined && isObject(schema['properties'])))
      return this.#readObject(schema, depth, scope)
    return SCALARS.get(type) ?? ANY
  }

  #readObject(schema: JsonObject, depth: number, scope: Scope | undefined): Shape {
    const fields = new Map<string, Shape>()
    const shape = { kind: 'object' as const, fields, rest: ANY }
    this.#shapes.set(schema, shape)
    const { properties } = schema
    if (isObject(properties)) {
      for (const name of Object.keys(properties))
        fields.set(name, this.read(properties[name], depth + 1, scope))
    }
    // TypeBox represents records as one pattern for all names.
    const patterns = schema['patternProperties']
    const rest = isObject(patterns) ? Object.values(patterns)[0] : schema['additionalProperties']
    shape.rest = this.read(rest, depth + 1, scope)
    return shape
  }

  #readList(schema: JsonObject, depth: number, scope: Scope | undefined): Shape {
    const { items } = schema
    const itemSchemas = Array.isArray(items) ? items : schema['prefixItems']
    const rest = Array.isArray(items) ? schema['additionalItems'] : items
    const first: Shape[] = []
    const shape = { kind: 'list' as const, items: ANY, first }
    this.#shapes.set(schema, shape)
    if (Array.isArray(itemSchemas))
      for (const itemSchema of itemSchemas) first.push(this.read(itemSchema, depth + 1, scope))
    shape.items = this.read(rest, depth + 1, scope)
    return shape
  }

  #readUnion(
    options: readonly JsonValue[],
    schema: JsonObject,
    depth: number,
    scope: Scope | undefined,
  ): Shape {
    const shapes: Shape[] = []
    const shape: Shape = { kind: 'union', options: shapes }
    this.#shapes.set(schema, shape)
    for (const option of options) shapes.push(this.read(option, depth + 1, scope))
    return shape
  }

  /** Merges the fields of all parts into one object. If no part is an object, the first part determines the shape. */
  #readAll(
    parts: readonly JsonValue[],
    schema: JsonObject,
    depth: number,
    scope: Scope | undefined,
  ): Shape {
    const shapes = parts.map((part) => this.read(part, depth + 1, scope))
    shapes.push(this.#readType(undefined, schema, depth, scope))
    const fields = new Map<string, Shape>()
    for (const shape of shapes) {
      if (shape.kind === 'object') for (const [name, field] of shape.fields) fields.set(name, field)
    }
    if (fields.size > 0) return { kind: 'object', fields, rest: ANY }
    return shapes.find((shape) => shape.kind !== 'any') ?? ANY
  }

  /**
   * Finds the schema at a JSON pointer (RFC 6901) such as `#/$defs/Node`, or a definition by name such as `Node`, as
   * written by TypeBox.
   */
  #find(reference: string, scope: Scope | undefined): JsonValue | undefined {
    const steps = reference.split('/').map(decodeStep)
    if (steps[0] === '#') {
      let found: JsonValue | undefined = this.#root
      for (const step of steps.slice(1)) {
        if (Array.isArray(found)) found = found[Number(step)]
        else found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined
      }
      if (found !== undefined) return found
    }
    const name = steps.at(-1)!
    for (let { definitions, outer } = scope ?? NO_SCOPE; ; { definitions, outer } = outer) {
      if (Object.hasOwn(definitions, name)) return definitions[name]
      if (outer === undefined) return undefined
    }
  }
}

const NO_SCOPE: Scope = { definitions: {}, outer: undefined }

/** Returns the integer shape for a `format`. */
function toSized({ format }: JsonObject): Shape | undefined {
  return typeof format === 'string' ? SIZED_INTEGERS.get(format) : undefined
}

/** RFC 6901 §4. */
function decodeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
