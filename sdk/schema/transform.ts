// A single long file, because it is one recursion over the keywords of a schema.
import { Compile } from '../../core/schema.ts'
import {
  type Definitions,
  definitionsOf,
  findDefinition,
  itemsOf,
  type JsonSchema,
  NO_DEFINITIONS,
  tupleItemsOf,
  typesOf,
} from './json-schema.ts'

/**
 * Mode of a transform of the values of a schema.
 * - `default`: fills in defaults. Runs before validation.
 * - `integer`: converts digits to numbers where integers are expected (reference 15.11). Runs before a second
 * validation.
 * - `decode`: runs `decode` of TypeBox codecs. Runs after validation.
 * - `encode`: fills in defaults and runs `encode` of codecs. Runs before the validation of a response.
 */
export type TransformMode = 'default' | 'integer' | 'decode' | 'encode'

/** Returns the transformed value. */
export type Transform = (value: unknown) => unknown

interface Codec {
  readonly decode: Transform
  readonly encode: Transform
}

type Fields = Record<string, unknown>

/** Numbers of up to 15 digits are always safe integers. */
const SAFE_DIGITS = /^-?(?:0|[1-9][0-9]{0,14})$/

/**
 * Compiles a transform that visits only the relevant parts of a value. The library's own functions traverse the entire
 * schema on every call, which costs many times as much (`bench/micro/endpoint-validation.ts`).
 *
 * All modes except `encode` modify the value in place, since it comes from a parser; `encode` copies changed parts.
 *
 * @returns undefined if there is nothing to do.
 */
export function compileTransform(schema: JsonSchema, mode: TransformMode): Transform | undefined {
  return compile(schema, mode, NO_DEFINITIONS)
}

function compile(
  schema: JsonSchema,
  mode: TransformMode,
  outer: Definitions,
): Transform | undefined {
  const definitions = definitionsOf(schema, outer)
  if (!isNeeded(schema, mode, outer, new Set())) return undefined
  const inner = joinSteps([
    compileObject(schema, mode, definitions),
    compileArray(schema, mode, definitions),
    ...(schema.allOf ?? []).map((part) => compile(part, mode, definitions)),
    compileUnion(schema, mode, definitions),
    compileReference(schema, mode, definitions),
  ])
  return withTransform(schema, mode, inner)
}

/** Applies the schema's own transform around the transforms of its parts. */
function withTransform(
  schema: JsonSchema,
  mode: TransformMode,
  inner: Transform | undefined,
): Transform | undefined {
  const codec = findCodec(schema)
  const hasDefault = 'default' in schema
  switch (mode) {
    case 'default':
      return hasDefault ? joinSteps([createDefault(schema.default), inner]) : inner
    case 'integer':
      return isInteger(schema) ? toInteger : inner
    case 'decode':
      return joinSteps([inner, codec?.decode])
    case 'encode': {
      const pack = joinSteps([codec?.encode, inner])
      if (!hasDefault) return pack
      // Defaults are already in JSON form and need no encoding.
      const fill = createDefault(schema.default)
      return (value) => (value === undefined || pack === undefined ? fill(value) : pack(value))
    }
  }
}

function compileObject(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const propertyTransforms = Object.entries(schema.properties ?? {})
  const fields = propertyTransforms.flatMap(([key, property]) => {
    const transform = compile(property, mode, definitions)
    const fills = mode === 'default' || (mode === 'encode' && 'default' in property)
    // Most defaults are constants, which need no function call.
    const constant = fills && isConstant(property.default) ? property.default : undefined
    return transform === undefined ? [] : [{ key, transform, fills, constant }]
  })
  const remaining = compileRemaining(schema, mode, definitions)
  if (fields.length === 0 && remaining === undefined) return undefined
  const names = new Set(propertyTransforms.map(([key]) => key))
  const copies = mode === 'encode'
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    let target = value as Fields
    for (const { key, transform, fills, constant } of fields) {
      const before = target[key]
      if (before === undefined && !fills) continue
      const after = before === undefined && constant !== undefined ? constant : transform(before)
      if (after === before) continue
      if (copies && target === value) target = { ...target }
      target[key] = after
    }
    if (remaining === undefined) return target
    for (const key of Object.keys(target)) {
      if (names.has(key)) continue
      const transform = remaining(key)
      const before = target[key]
      if (transform === undefined || before === undefined) continue
      const after = transform(before)
      if (after === before) continue
      if (copies && target === value) target = { ...target }
      target[key] = after
    }
    return target
  }
}

/** Transforms of the fields not named in `properties`, by name. */
function compileRemaining(
  { patternProperties = {}, additionalProperties }: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): ((key: string) => Transform | undefined) | undefined {
  const patterns = Object.entries(patternProperties).map(([pattern, schema]) => ({
    pattern: new RegExp(pattern, 'u'),
    transform: compile(schema, mode, definitions),
  }))
  const additional =
    typeof additionalProperties === 'object'
      ? compile(additionalProperties, mode, definitions)
      : undefined
  if (additional === undefined && patterns.every(({ transform }) => transform === undefined))
    return undefined
  return (key) => {
    const match = patterns.find(({ pattern }) => pattern.test(key))
    return match === undefined ? additional : match.transform
  }
}

function compileArray(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const transforms = tupleItemsOf(schema).map((item) => compile(item, mode, definitions))
  const items = itemsOf(schema)
  const itemTransform = items === undefined ? undefined : compile(items, mode, definitions)
  if (itemTransform === undefined && transforms.every((place) => place === undefined))
    return undefined
  const copies = mode === 'encode'
  return (value) => {
    if (!Array.isArray(value)) return value
    let target: unknown[] = value
    for (let i = 0; i < target.length; i++) {
      const transform = i < transforms.length ? transforms[i] : itemTransform
      if (transform === undefined) continue
      const before = target[i]
      const after = transform(before)
      if (after === before) continue
      if (copies && target === value) target = [...value]
      target[i] = after
    }
    return target
  }
}

/**
 * Uses the first alternative that matches, before or after the transform. Alternatives excluded by constant fields are
 * skipped; otherwise nested alternatives would take exponential time.
 */
function compileUnion(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const parts = schema.anyOf ?? schema.oneOf
  if (parts === undefined) return undefined
  const options = parts.map((part) => ({
    mayMatch: compileGuard(part, definitions),
    fits: compileCheck(part, definitions),
    transform: compile(part, mode, definitions),
  }))
  if (options.every(({ transform }) => transform === undefined)) return undefined
  const isChecked = mode === 'decode'
  const copiesChanges = mode === 'encode'
  return (value) => {
    for (const { mayMatch, fits, transform } of options) {
      if (!mayMatch(value)) continue
      if (transform === undefined || isChecked) {
        if (fits(value)) return transform === undefined ? value : transform(value)
        continue
      }
      // Modifies a copy, so that an alternative that does not match has no effect on the value.
      const changed = attempt(transform, copiesChanges ? value : structuredClone(value))
      if (fits(changed)) return changed
    }
    return value
  }
}

/** Runs a transform. A codec of one alternative may throw for a value of another. */
function attempt(transform: Transform, value: unknown): unknown {
  try {
    return transform(value)
  } catch {
    return value
  }
}

function compileCheck(schema: JsonSchema, definitions: Definitions): (value: unknown) => boolean {
  const validator = Compile(definitions as never, schema as never)
  return (value) => validator.Check(value)
}

/** Checks the constant fields of an alternative; fields with a default are optional. */
function compileGuard(part: JsonSchema, outer: Definitions): (value: unknown) => boolean {
  const definitions = definitionsOf(part, outer)
  const schema = (part.$ref === undefined ? part : findDefinition(part.$ref, definitions)) ?? {}
  const constants = Object.entries(schema.properties ?? {}).flatMap(([key, property]) =>
    'const' in property
      ? [{ key, expected: property.const, isOptional: 'default' in property }]
      : [],
  )
  if (constants.length === 0) return () => true
  return (value) => {
    if (typeof value !== 'object' || value === null) return false
    return constants.every(({ key, expected, isOptional }) => {
      const input = (value as Fields)[key]
      return input === expected || (input === undefined && isOptional)
    })
  }
}

/** Compiled lazily, because a schema may be recursive. */
function compileReference(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const { $ref } = schema
  if ($ref === undefined) return undefined
  const definition = findDefinition($ref, definitions)
  if (definition === undefined || !isNeeded(definition, mode, definitions, new Set()))
    return undefined
  let transform: Transform | undefined
  return (value) => {
    if (value === undefined && mode !== 'default') return value
    transform ??= compileNamed(definition, mode, definitions)
    return transform(value)
  }
}

/** One transform per definition and mode. */
const compiled = new WeakMap<JsonSchema, Map<TransformMode, Transform>>()

function compileNamed(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform {
  const modes = compiled.get(schema) ?? new Map<TransformMode, Transform>()
  compiled.set(schema, modes)
  const cached = modes.get(mode)
  if (cached !== undefined) return cached
  const transform = compile(schema, mode, definitions) ?? ((value: unknown) => value)
  modes.set(mode, transform)
  return transform
}

/** True if any part of the schema needs a transform. */
function isNeeded(
  schema: JsonSchema,
  mode: TransformMode,
  outer: Definitions,
  visited: Set<JsonSchema>,
): boolean {
  if (visited.has(schema)) return false
  visited.add(schema)
  if ((mode === 'default' || mode === 'encode') && 'default' in schema) return true
  if (mode === 'integer' && isInteger(schema)) return true
  if ((mode === 'decode' || mode === 'encode') && findCodec(schema) !== undefined) return true
  const definitions = definitionsOf(schema, outer)
  const items = itemsOf(schema)
  const parts = [
    ...Object.values(schema.properties ?? {}),
    ...Object.values(schema.patternProperties ?? {}),
    ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
    ...tupleItemsOf(schema),
    ...(items === undefined ? [] : [items]),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
  ]
  const target = schema.$ref === undefined ? undefined : findDefinition(schema.$ref, definitions)
  if (target !== undefined) parts.push(target)
  return parts.some((part) => isNeeded(part, mode, definitions, visited))
}

/** The codec, stored in a hidden property of the TypeBox type. */
function findCodec(schema: JsonSchema): Codec | undefined {
  return (schema as { readonly '~codec'?: Codec })['~codec']
}

function isInteger(schema: JsonSchema): boolean {
  const types = typesOf(schema)
  return types.includes('integer') && !types.includes('string')
}

function toInteger(value: unknown): unknown {
  return typeof value === 'string' && SAFE_DIGITS.test(value) ? Number(value) : value
}

function isConstant(input: unknown): boolean {
  return typeof input !== 'function' && (typeof input !== 'object' || input === null)
}

/** Creates a new default for each value, because the handler may modify it. */
function createDefault(input: unknown): Transform {
  if (typeof input === 'function')
    return (value) => (value === undefined ? (input as () => unknown)() : value)
  if (isConstant(input)) return (value) => (value === undefined ? input : value)
  // The empty object is the most frequent default, and a literal costs a hundredth of `structuredClone`.
  if (
    Object.keys(input as object).length === 0 &&
    Object.getPrototypeOf(input) === Object.prototype
  )
    return (value) => (value === undefined ? {} : value)
  return (value) => (value === undefined ? structuredClone(input) : value)
}

function joinSteps(steps: readonly (Transform | undefined)[]): Transform | undefined {
  const [first, second, ...remaining] = steps.filter((step) => step !== undefined)
  if (second === undefined) return first
  const both: Transform = (value) => second(first!(value))
  return remaining.length === 0 ? both : joinSteps([both, ...remaining])
}
