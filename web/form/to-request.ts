import { isBase64 } from '../../lib/text/base64.ts'
import { isIntegerType, parseInteger, parseNumber } from '../../sdk/schema/parse-number.ts'
import { formatPath } from '../../sdk/schema/schema-error.ts'
import { isTooDeep, TOO_DEEP } from '../json/json-levels.ts'
import { parseJson } from '../json/json-source.ts'
import type { Draft } from './draft.ts'
import type { Field } from './field.ts'

/** One thing wrong with what was typed. */
export interface Problem {
  /** As services name it in their errors: `request.items[0].name`. */
  readonly path: string
  /** What it must be: `must be an int64 such as 42 or 0x2a, got "x"`. */
  readonly message: string
}

/** The request, or all that is wrong with it. */
export type Request =
  | { readonly value: unknown; readonly problems: readonly [] }
  | { readonly value: undefined; readonly problems: readonly Problem[] }

type Keys = readonly PropertyKey[]
/** @returns what stands for what is wrong. */
type Tell = (keys: Keys, message: string, typed?: unknown) => unknown

/** Where every path begins. */
export const ROOT = 'request'

/**
 * Makes the request of what was typed. What is left out is not in it. Only what is certainly wrong is told: lengths and
 * patterns are for the service to judge, by its own rules.
 */
export function toRequest(field: Field, draft: Draft): Request {
  const problems: Problem[] = []
  const tell: Tell = (keys, message) => {
    problems.push({ path: formatPath(ROOT, keys), message })
    return undefined
  }
  const value = read(field, draft, [], tell)
  return problems.length > 0 ? { value: undefined, problems } : { value: value ?? {}, problems: [] }
}

/** All that was typed, right or wrong: what is no value of its kind is a text, and what is missing is left out (an item: `null`). */
export function toTyped(field: Field, draft: Draft): unknown {
  return read(field, draft, [], (_keys, _message, typed) => typed) ?? {}
}

/** A request typed as JSON; nothing is an empty one. */
export function parseRequest(text: string): Request {
  if (text.trim() === '') return { value: {}, problems: [] }
  try {
    return { value: parseTyped(text), problems: [] }
  } catch (error) {
    return { value: undefined, problems: [{ path: ROOT, message: (error as Error).message }] }
  }
}

function read(field: Field, draft: Draft, keys: Keys, tell: Tell): unknown {
  if (draft.presence === 'null') return null
  if (draft.presence === 'out') {
    const isMissing = field.isRequired && field.default === undefined && keys.length > 0
    return isMissing ? tell(keys, 'is missing') : undefined
  }
  const { text, parts } = draft
  switch (field.kind) {
    case 'null':
      return null
    case 'text':
      return text
    case 'boolean':
      return text === 'true'
    case 'choice':
      return field.choices[Number(text)]
    case 'integer':
      return readNumber(field, text, keys, tell)
    case 'number':
      return readNumber(field, text, keys, tell)
    case 'bytes':
      return isBase64(text) ? text : tell(keys, 'must be base64, or a file', text)
    case 'json':
      return readJson(text, keys, tell)
    case 'object':
      return readObject(field, draft, keys, tell)
    case 'map':
      return readMap(field, draft, keys, tell)
    case 'tuple':
      return parts.map((part, i) => read(field.parts[i]!, part.draft, [...keys, i], tell))
    case 'list': {
      tellCount(field, parts.length, keys, tell)
      return parts.map((part, i) => read(field.item!, part.draft, [...keys, i], tell))
    }
    case 'union': {
      const chosen = Number(text)
      return read(field.parts[chosen]!, parts[chosen]!.draft, keys, tell)
    }
  }
}

function readNumber(field: Field, text: string, keys: Keys, tell: Tell): unknown {
  const { schema, kind } = field
  const { format, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  try {
    const value =
      kind === 'number'
        ? parseNumber(text.trim())
        : parseInteger(text.trim(), isIntegerType(format) ? format : 'integer')
    const number = Number(value)
    if (minimum !== undefined && number < minimum)
      return tell(keys, `must be at least ${minimum}, got ${text}`, value)
    if (maximum !== undefined && number > maximum)
      return tell(keys, `must be at most ${maximum}, got ${text}`, value)
    if (exclusiveMinimum !== undefined && number <= exclusiveMinimum)
      return tell(keys, `must be more than ${exclusiveMinimum}, got ${text}`, value)
    if (exclusiveMaximum !== undefined && number >= exclusiveMaximum)
      return tell(keys, `must be less than ${exclusiveMaximum}, got ${text}`, value)
    return value
  } catch (error) {
    return tell(keys, (error as RangeError).message, text)
  }
}

function readJson(text: string, keys: Keys, tell: Tell): unknown {
  try {
    return parseTyped(text)
  } catch (error) {
    return tell(keys, (error as Error).message, text)
  }
}

/** @throws {Error} saying what it must be. */
function parseTyped(text: string): unknown {
  if (isTooDeep(text)) throw new RangeError(`must not be ${TOO_DEEP}`)
  try {
    return parseJson(text)
  } catch (cause) {
    throw new SyntaxError(`must be JSON: ${(cause as Error).message}`, { cause })
  }
}

function readObject(field: Field, draft: Draft, keys: Keys, tell: Tell): unknown {
  const entries = field.parts.flatMap((inner, i) => {
    const part = draft.parts[i]
    const value = part && read(inner, part.draft, [...keys, inner.name], tell)
    return value === undefined ? [] : [[inner.name, value] as const]
  })
  // Own properties, whatever their names.
  return Object.fromEntries(entries)
}

function readMap(field: Field, draft: Draft, keys: Keys, tell: Tell): unknown {
  const seen = new Set<string>()
  const values = new Map<string, unknown>()
  for (const { key, draft: inner } of draft.parts) {
    if (seen.has(key)) tell([...keys, key], 'is there twice')
    seen.add(key)
    let name = key
    // Of what was typed nothing takes the place of another.
    while (values.has(name)) name += '_'
    values.set(name, read(field.item!, inner, [...keys, key], tell))
  }
  return Object.fromEntries(values)
}

function tellCount({ schema }: Field, count: number, keys: Keys, tell: Tell): void {
  const { minItems, maxItems } = schema
  if (minItems !== undefined && count < minItems)
    tell(keys, `must have at least ${minItems} items, got ${count}`)
  if (maxItems !== undefined && count > maxItems)
    tell(keys, `must have at most ${maxItems} items, got ${count}`)
}
