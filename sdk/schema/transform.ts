// Longer than other files: one recursion over the keywords of a schema, which would be worse split.
import { Compile } from '../../core/schema.ts'
import {
  type Definitions,
  definitionsOf,
  findDefinition,
  itemsOf,
  type JsonSchema,
  NO_DEFINITIONS,
  placesOf,
  typesOf,
} from './json-schema.ts'

/**
 * What a transform does to the values a schema describes.
 * - `default`: fills in defaults. Before the check.
 * - `integer`: makes numbers of digits where an integer belongs (reference 15.11). Before a second check.
 * - `decode`: runs the `decode` of TypeBox codecs. After the check.
 * - `encode`: fills in defaults and runs the `encode` of codecs. Before the check of a reply.
 */
export type TransformMode = 'default' | 'integer' | 'decode' | 'encode'

/** Gives back the value, changed where the schema says so. */
export type Transform = (value: unknown) => unknown

interface Codec {
  readonly decode: Transform
  readonly encode: Transform
}

type Fields = Record<string, unknown>

/** 15 digits always are a safe integer. */
const SAFE_DIGITS = /^-?(?:0|[1-9][0-9]{0,14})$/

/**
 * Compiles one way through values of a schema: only to the places where it has something to do. The library's own
 * functions for the same walk the whole schema on every call, which costs many times as much (`bench/micro/endpoint-validation.ts`).
 *
 * All but `encode` change the value in place, for it is fresh from a parser; `encode` copies what it changes.
 *
 * @returns undefined when there is nothing to do.
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
  return withOwn(schema, mode, inner)
}

/** What the schema itself asks for, around what its parts ask for. */
function withOwn(
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
      // A default is written as it stands in JSON: there is nothing to encode.
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
  const known = Object.entries(schema.properties ?? {})
  const fields = known.flatMap(([key, property]) => {
    const transform = compile(property, mode, definitions)
    const fills = mode === 'default' || (mode === 'encode' && 'default' in property)
    // Most defaults: there is no need to call anybody for them.
    const constant = fills && isConstant(property.default) ? property.default : undefined
    return transform === undefined ? [] : [{ key, transform, fills, constant }]
  })
  const others = compileOthers(schema, mode, definitions)
  if (fields.length === 0 && others === undefined) return undefined
  const names = new Set(known.map(([key]) => key))
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
    if (others === undefined) return target
    for (const key of Object.keys(target)) {
      if (names.has(key)) continue
      const transform = others(key)
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

/** What is to be done to the fields of an object that `properties` does not name, by name. */
function compileOthers(
  { patternProperties = {}, additionalProperties }: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): ((key: string) => Transform | undefined) | undefined {
  const patterns = Object.entries(patternProperties).map(([pattern, schema]) => ({
    pattern: new RegExp(pattern, 'u'),
    transform: compile(schema, mode, definitions),
  }))
  const rest =
    typeof additionalProperties === 'object'
      ? compile(additionalProperties, mode, definitions)
      : undefined
  if (rest === undefined && patterns.every(({ transform }) => transform === undefined))
    return undefined
  return (key) => {
    const found = patterns.find(({ pattern }) => pattern.test(key))
    return found === undefined ? rest : found.transform
  }
}

function compileArray(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const places = placesOf(schema).map((place) => compile(place, mode, definitions))
  const items = itemsOf(schema)
  const rest = items === undefined ? undefined : compile(items, mode, definitions)
  if (rest === undefined && places.every((place) => place === undefined)) return undefined
  const copies = mode === 'encode'
  return (value) => {
    if (!Array.isArray(value)) return value
    let target: unknown[] = value
    for (let i = 0; i < target.length; i++) {
      const transform = i < places.length ? places[i] : rest
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
 * Of several alternatives the first one that fits is taken, as it stands or after the transform. Those that the
 * constants among their fields rule out are not tried, or a value of nested alternatives would take exponential time.
 */
function compileUnion(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const parts = schema.anyOf ?? schema.oneOf
  if (parts === undefined) return undefined
  const options = parts.map((part) => ({
    isPossible: compileGuard(part, definitions),
    fits: compileCheck(part, definitions),
    transform: compile(part, mode, definitions),
  }))
  if (options.every(({ transform }) => transform === undefined)) return undefined
  const isChecked = mode === 'decode'
  const isOwn = mode === 'encode'
  return (value) => {
    for (const { isPossible, fits, transform } of options) {
      if (!isPossible(value)) continue
      if (transform === undefined || isChecked) {
        if (fits(value)) return transform === undefined ? value : transform(value)
        continue
      }
      // In place on a copy: an alternative that does not fit after all must leave no trace.
      const changed = attempt(transform, isOwn ? value : structuredClone(value))
      if (fits(changed)) return changed
    }
    return value
  }
}

/** A codec written for one alternative may throw when it meets a value of another. */
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

/** Whether the fields that are constants in this alternative allow it; one with a default may be absent. */
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
      const given = (value as Fields)[key]
      return given === expected || (given === undefined && isOptional)
    })
  }
}

/** Compiled when it is first met: a schema may contain itself. */
function compileReference(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform | undefined {
  const { $ref } = schema
  if ($ref === undefined) return undefined
  const named = findDefinition($ref, definitions)
  if (named === undefined || !isNeeded(named, mode, definitions, new Set())) return undefined
  let transform: Transform | undefined
  return (value) => {
    if (value === undefined && mode !== 'default') return value
    transform ??= compileNamed(named, mode, definitions)
    return transform(value)
  }
}

/** One transform a definition and mode, however often it is named. */
const compiled = new WeakMap<JsonSchema, Map<TransformMode, Transform>>()

function compileNamed(
  schema: JsonSchema,
  mode: TransformMode,
  definitions: Definitions,
): Transform {
  const modes = compiled.get(schema) ?? new Map<TransformMode, Transform>()
  compiled.set(schema, modes)
  const known = modes.get(mode)
  if (known !== undefined) return known
  const transform = compile(schema, mode, definitions) ?? ((value: unknown) => value)
  modes.set(mode, transform)
  return transform
}

/** Whether the schema, or a part of it, asks for anything. */
function isNeeded(
  schema: JsonSchema,
  mode: TransformMode,
  outer: Definitions,
  seen: Set<JsonSchema>,
): boolean {
  if (seen.has(schema)) return false
  seen.add(schema)
  if ((mode === 'default' || mode === 'encode') && 'default' in schema) return true
  if (mode === 'integer' && isInteger(schema)) return true
  if ((mode === 'decode' || mode === 'encode') && findCodec(schema) !== undefined) return true
  const definitions = definitionsOf(schema, outer)
  const items = itemsOf(schema)
  const parts = [
    ...Object.values(schema.properties ?? {}),
    ...Object.values(schema.patternProperties ?? {}),
    ...(typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []),
    ...placesOf(schema),
    ...(items === undefined ? [] : [items]),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
  ]
  const target = schema.$ref === undefined ? undefined : findDefinition(schema.$ref, definitions)
  if (target !== undefined) parts.push(target)
  return parts.some((part) => isNeeded(part, mode, definitions, seen))
}

/** The codec TypeBox keeps in a hidden property of the type. */
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

function isConstant(given: unknown): boolean {
  return typeof given !== 'function' && (typeof given !== 'object' || given === null)
}

/** A fresh default each time: the handler may change what it is given. */
function createDefault(given: unknown): Transform {
  if (typeof given === 'function')
    return (value) => (value === undefined ? (given as () => unknown)() : value)
  if (isConstant(given)) return (value) => (value === undefined ? given : value)
  // The one that most are, in a hundredth of the time.
  if (
    Object.keys(given as object).length === 0 &&
    Object.getPrototypeOf(given) === Object.prototype
  )
    return (value) => (value === undefined ? {} : value)
  return (value) => (value === undefined ? structuredClone(given) : value)
}

function joinSteps(steps: readonly (Transform | undefined)[]): Transform | undefined {
  const [first, second, ...others] = steps.filter((step) => step !== undefined)
  if (second === undefined) return first
  const both: Transform = (value) => second(first!(value))
  return others.length === 0 ? both : joinSteps([both, ...others])
}
