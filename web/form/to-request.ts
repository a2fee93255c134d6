import { isBase64 } from '../../lib/text/base64.ts'
import { isIntegerType, parseInteger, parseNumber } from '../../sdk/schema/parse-number.ts'
import { formatKeyPath } from '../../sdk/schema/schema-error.ts'
import { isTooDeep, TOO_DEEP } from '../json/json-levels.ts'
import { parseJson } from '../json/json-source.ts'
import type { Draft } from './draft.ts'
import type { Field } from './field.ts'

/** Validation error. */
export interface Problem {
  /** Path in the notation of service errors, such as `request.items[0].name`. */
  readonly path: string
  /** Message such as `must be an int64 such as 42 or 0x2a, got "x"`. */
  readonly message: string
}

/** A request, or its validation errors. */
export type Request =
  | { readonly value: unknown; readonly problems: readonly [] }
  | { readonly value: undefined; readonly problems: readonly Problem[] }

type Keys = readonly PropertyKey[]
/** Reports a validation error. Returns the value to use for the invalid `input`. */
type Report = (keys: Keys, message: string, input?: unknown) => unknown

/** Root of all paths. */
export const ROOT = 'request'

/**
 * Builds the request of a form. Reports only type and range errors, because the service validates lengths and patterns.
 */
export function toRequest(field: Field, draft: Draft): Request {
  const problems: Problem[] = []
  const report: Report = (keys, message) => {
    problems.push({ path: formatKeyPath(ROOT, keys), message })
    return undefined
  }
  const value = read(field, draft, [], report)
  return problems.length > 0 ? { value: undefined, problems } : { value: value ?? {}, problems: [] }
}

/**
 * Builds a request that preserves all input. Invalid values become strings; missing ones are omitted, or `null` in
 * lists.
 */
export function toLenientRequest(field: Field, draft: Draft): unknown {
  return read(field, draft, [], (_keys, _message, input) => input) ?? {}
}

/** Parses a request in JSON. Empty input is an empty request. */
export function parseRequest(text: string): Request {
  if (text.trim() === '') return { value: {}, problems: [] }
  try {
    return { value: parseInput(text), problems: [] }
  } catch (error) {
    return { value: undefined, problems: [{ path: ROOT, message: (error as Error).message }] }
  }
}

function read(field: Field, draft: Draft, keys: Keys, report: Report): unknown {
  if (draft.presence === 'null') return null
  if (draft.presence === 'absent') {
    const isMissing = field.isRequired && field.default === undefined && keys.length > 0
    return isMissing ? report(keys, 'is required') : undefined
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
      return readNumber(field, text, keys, report)
    case 'number':
      return readNumber(field, text, keys, report)
    case 'bytes':
      return isBase64(text) ? text : report(keys, 'must be base64 or a file', text)
    case 'json':
      return readJson(text, keys, report)
    case 'object':
      return readObject(field, draft, keys, report)
    case 'map':
      return readMap(field, draft, keys, report)
    case 'tuple':
      return parts.map((part, i) => read(field.parts[i]!, part.draft, [...keys, i], report))
    case 'list': {
      checkCount(field, parts.length, keys, report)
      return parts.map((part, i) => read(field.item!, part.draft, [...keys, i], report))
    }
    case 'union': {
      const index = Number(text)
      return read(field.parts[index]!, parts[index]!.draft, keys, report)
    }
  }
}

function readNumber(field: Field, text: string, keys: Keys, report: Report): unknown {
  const { schema, kind } = field
  const { format, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  try {
    const value =
      kind === 'number'
        ? parseNumber(text.trim())
        : parseInteger(text.trim(), isIntegerType(format) ? format : 'integer')
    const number = Number(value)
    if (minimum !== undefined && number < minimum)
      return report(keys, `must be at least ${minimum}, got ${text}`, value)
    if (maximum !== undefined && number > maximum)
      return report(keys, `must be at most ${maximum}, got ${text}`, value)
    if (exclusiveMinimum !== undefined && number <= exclusiveMinimum)
      return report(keys, `must be greater than ${exclusiveMinimum}, got ${text}`, value)
    if (exclusiveMaximum !== undefined && number >= exclusiveMaximum)
      return report(keys, `must be less than ${exclusiveMaximum}, got ${text}`, value)
    return value
  } catch (error) {
    return report(keys, (error as RangeError).message, text)
  }
}

function readJson(text: string, keys: Keys, report: Report): unknown {
  try {
    return parseInput(text)
  } catch (error) {
    return report(keys, (error as Error).message, text)
  }
}

/** Parses JSON input. @throws {Error} if it is invalid. */
function parseInput(text: string): unknown {
  if (isTooDeep(text)) throw new RangeError(`must not be ${TOO_DEEP}`)
  try {
    return parseJson(text)
  } catch (cause) {
    throw new SyntaxError(`must be JSON: ${(cause as Error).message}`, { cause })
  }
}

function readObject(field: Field, draft: Draft, keys: Keys, report: Report): unknown {
  const entries = field.parts.flatMap((inner, i) => {
    const part = draft.parts[i]
    const value = part && read(inner, part.draft, [...keys, inner.name], report)
    return value === undefined ? [] : [[inner.name, value] as const]
  })
  // Unlike assignment, fromEntries is safe for names such as __proto__.
  return Object.fromEntries(entries)
}

function readMap(field: Field, draft: Draft, keys: Keys, report: Report): unknown {
  const seenKeys = new Set<string>()
  const values = new Map<string, unknown>()
  for (const { key, draft: inner } of draft.parts) {
    if (seenKeys.has(key)) report([...keys, key], 'is a duplicate key')
    seenKeys.add(key)
    let name = key
    // Preserves the values of duplicate keys.
    while (values.has(name)) name += '_'
    values.set(name, read(field.item!, inner, [...keys, key], report))
  }
  return Object.fromEntries(values)
}

function checkCount({ schema }: Field, count: number, keys: Keys, report: Report): void {
  const { minItems, maxItems } = schema
  if (minItems !== undefined && count < minItems)
    report(keys, `must have at least ${minItems} items, got ${count}`)
  if (maxItems !== undefined && count > maxItems)
    report(keys, `must have at most ${maxItems} items, got ${count}`)
}
