import { hasSecretPart, REDACTED, redactUserinfo, SECRET_NAME } from '../../lib/text/redact.ts'
import type { Field } from './field.ts'

/** Alternatives that are looked at: of those that contain each other there may be more than any computer takes. */
const MAX_TRIES = 20_000

/** How secrets are hidden. */
interface Search {
  /** What stands in the place of each; undefined: they are left out. */
  readonly instead: string | undefined
  tries: number
}

/** There is more to look through than can be. */
class TooMuchError extends Error {}

/**
 * A request as it may be kept in the browser: without what its schema calls secret (`writeOnly`), texts whose name says that they
 * are, and logins in URLs.
 */
export function withoutSecrets(field: Field, request: unknown): unknown {
  const left = search(field, request, undefined)
  return left === undefined ? {} : left
}

/** The same request with {@link REDACTED} in the place of each secret. */
export function maskSecrets(field: Field, request: unknown): unknown {
  return search(field, request, REDACTED)
}

/** Of what cannot be looked through all is secret. */
function search(field: Field, request: unknown, instead: string | undefined): unknown {
  try {
    return hide(field, '', request, { instead, tries: 0 })
  } catch (error) {
    if (error instanceof TooMuchError) return instead
    throw error
  }
}

/**
 * @param field undefined: no schema says more.
 * @param name of the member it is, or is an item of.
 */
function hide(field: Field | undefined, name: string, value: unknown, search: Search): unknown {
  const { instead } = search
  if (value === null || value === undefined) return value
  if (field !== undefined && isHidden(field)) return instead
  // Which alternative it is does not matter: what is secret in one of them is hidden.
  if (field?.kind === 'union') {
    if (++search.tries > MAX_TRIES) throw new TooMuchError()
    return field.parts
      .filter((part) => mayHold(part, value))
      .reduce((left, part) => hide(part, name, left, search), hide(undefined, name, value, search))
  }
  if (Array.isArray(value))
    return value.flatMap((item, i) => {
      const left = hide(field?.item ?? field?.parts[i], name, item, search)
      return left === undefined ? [] : [left]
    })
  if (typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) => {
        const part = findPart(field, key)
        const left = part === 'secret' ? instead : hide(part, key, inner, search)
        return left === undefined ? [] : [[key, left]]
      }),
    )
  // What a schema lists is told to everybody.
  if (typeof value !== 'string' || field?.kind === 'choice') return value
  return SECRET_NAME.test(name) ? instead : redactUserinfo(value)
}

/** Whether an alternative may be what a value is. */
function mayHold({ kind }: Field, value: unknown): boolean {
  if (Array.isArray(value)) return kind === 'list' || kind === 'tuple' || isOpen(kind)
  if (typeof value === 'object') return kind === 'object' || kind === 'map' || isOpen(kind)
  return kind !== 'list' && kind !== 'tuple' && kind !== 'object' && kind !== 'map'
}

function isOpen(kind: Field['kind']): boolean {
  return kind === 'union' || kind === 'json'
}

/** What a schema says of a member; of one it does not name, whatever it says at all. */
function findPart(field: Field | undefined, name: string): Field | 'secret' | undefined {
  if (field === undefined || field.kind === 'map') return field?.item
  const named = field.parts.find((part) => part.name === name)
  const { properties: _, ...rest } = field.schema
  return named ?? (hasSecretPart(rest) ? 'secret' : undefined)
}

/** Of a union with a secret text nobody knows whether a text is that one, nor what JSON holds where a schema says too much for a form. */
function isHidden({ isSecret, kind, parts, schema }: Field): boolean {
  if (kind === 'union') return isSecret || parts.some((part) => part.isSecret)
  return isSecret || (kind === 'json' && hasSecretPart(schema))
}
