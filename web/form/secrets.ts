import { hasSecretPart, REDACTED, redactUserinfo, SECRET_NAME } from '../../lib/text/redact.ts'
import type { Field } from './field.ts'

/** Maximum number of alternatives to try, which can be exponential for recursive unions. */
const MAX_TRIES = 20_000

interface Search {
  /** Replacement for each secret; undefined to remove it. */
  readonly replacement: string | undefined
  tries: number
}

/** Thrown if the search exceeds {@link MAX_TRIES}. */
class TooComplexError extends Error {}

/**
 * Removes secrets from a request before it is stored in the browser: fields marked `writeOnly`, strings whose name
 * indicates a secret, and credentials in URLs.
 */
export function withoutSecrets(field: Field, request: unknown): unknown {
  const stripped = search(field, request, undefined)
  return stripped === undefined ? {} : stripped
}

/** Replaces each secret of a request with {@link REDACTED}. */
export function maskSecrets(field: Field, request: unknown): unknown {
  return search(field, request, REDACTED)
}

/** Searches for secrets. The entire request is treated as secret if it is too complex. */
function search(field: Field, request: unknown, replacement: string | undefined): unknown {
  try {
    return hide(field, '', request, { replacement, tries: 0 })
  } catch (error) {
    if (error instanceof TooComplexError) return replacement
    throw error
  }
}

/**
 * @param field field of the value; undefined without a schema.
 * @param name name of the nearest member.
 */
function hide(field: Field | undefined, name: string, value: unknown, search: Search): unknown {
  const { replacement } = search
  if (value === null || value === undefined) return value
  if (field !== undefined && isHidden(field)) return replacement
  // A value is hidden if it is secret in any alternative.
  if (field?.kind === 'union') {
    if (++search.tries > MAX_TRIES) throw new TooComplexError()
    return field.parts
      .filter((part) => mayMatch(part, value))
      .reduce(
        (result, part) => hide(part, name, result, search),
        hide(undefined, name, value, search),
      )
  }
  if (Array.isArray(value))
    return value.flatMap((item, i) => {
      const result = hide(field?.item ?? field?.parts[i], name, item, search)
      return result === undefined ? [] : [result]
    })
  if (typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) => {
        const part = findPart(field, key)
        const result = part === 'secret' ? replacement : hide(part, key, inner, search)
        return result === undefined ? [] : [[key, result]]
      }),
    )
  // Choices are public, because the schema lists them.
  if (typeof value !== 'string' || field?.kind === 'choice') return value
  return SECRET_NAME.test(name) ? replacement : redactUserinfo(value)
}

/** True if a value may belong to an alternative. */
function mayMatch({ kind }: Field, value: unknown): boolean {
  if (Array.isArray(value)) return kind === 'list' || kind === 'tuple' || isOpen(kind)
  if (typeof value === 'object') return kind === 'object' || kind === 'map' || isOpen(kind)
  return kind !== 'list' && kind !== 'tuple' && kind !== 'object' && kind !== 'map'
}

function isOpen(kind: Field['kind']): boolean {
  return kind === 'union' || kind === 'json'
}

/** Field of a member. A member that is missing from the schema is secret if the schema contains a secret anywhere. */
function findPart(field: Field | undefined, name: string): Field | 'secret' | undefined {
  if (field === undefined || field.kind === 'map') return field?.item
  const memberField = field.parts.find((part) => part.name === name)
  const { properties: _, ...rest } = field.schema
  return memberField ?? (hasSecretPart(rest) ? 'secret' : undefined)
}

/** Unions and JSON are hidden if any part may be secret, because the matching part is unknown. */
function isHidden({ isSecret, kind, parts, schema }: Field): boolean {
  if (kind === 'union') return isSecret || parts.some((part) => part.isSecret)
  return isSecret || (kind === 'json' && hasSecretPart(schema))
}
