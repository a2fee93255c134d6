import { formatPath } from '../../sdk/schema/schema-error.ts'
import { type Draft, emptyDraft, OUT, openDraft, setDraft } from './draft.ts'
import type { Field } from './field.ts'
import { ROOT } from './to-request.ts'

type Keys = readonly PropertyKey[]

/** A request the form has no place for, with the path of what it is. */
class NoPlaceError extends Error {}

/** Deepest message that the form shows: each level stands inside the one before. */
const MAX_DEPTH = 50
/** Alternatives that are tried: of those that contain each other there may be more than any computer takes. */
const MAX_TRIES = 10_000

/** Alternatives that were tried. */
interface Attempt {
  tries: number
}

/**
 * What would have been typed for a request: of the history, or typed as JSON.
 *
 * @throws {NoPlaceError} for what the form cannot say, such as a field the schema does not name.
 */
export function fromRequest(field: Field, value: unknown): Draft {
  return write(field, value, [], { tries: 0 })
}

function write(field: Field, value: unknown, keys: Keys, attempt: Attempt): Draft {
  if (keys.length > MAX_DEPTH)
    throw new NoPlaceError(`${formatPath(ROOT, keys.slice(0, 1))} is deeper than the form goes`)
  if (value === undefined) return keys.length === 0 ? emptyDraft(field) : OUT
  if (value === null && field.isNullable) return { ...OUT, presence: 'null' }
  const leaf = writeLeaf(field, value)
  if (leaf !== undefined) return setDraft(leaf, [])
  switch (field.kind) {
    case 'object':
      if (isObject(value)) return writeObject(field, value, keys, attempt)
      break
    case 'map':
      if (isObject(value)) return writeMap(field, value, keys, attempt)
      break
    case 'list':
      if (Array.isArray(value))
        return setDraft(
          '',
          value.map((item, i) => write(field.item!, item, [...keys, i], attempt)),
        )
      break
    case 'tuple':
      if (Array.isArray(value) && value.length <= field.parts.length)
        return setDraft(
          '',
          field.parts.map((part, i) => write(part, value[i], [...keys, i], attempt)),
        )
      break
    case 'union':
      return writeUnion(field, value, keys, attempt)
  }
  throw new NoPlaceError(`${formatPath(ROOT, keys)} is no ${field.type} the form could show`)
}

/** The text of a value that is one; undefined: it is none of its kind. */
function writeLeaf({ kind, choices }: Field, value: unknown): string | undefined {
  switch (kind) {
    case 'null':
      return value === null ? '' : undefined
    case 'text':
    case 'bytes':
      return typeof value === 'string' ? value : undefined
    case 'integer':
      return typeof value === 'number' || typeof value === 'string' ? String(value) : undefined
    case 'number':
      return typeof value === 'number' ? String(value) : undefined
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : undefined
    case 'choice': {
      const text = JSON.stringify(value)
      const at = choices.findIndex((choice) => JSON.stringify(choice) === text)
      return at < 0 ? undefined : String(at)
    }
    case 'json':
      return JSON.stringify(value, null, 2)
    default:
      return undefined
  }
}

function writeObject(
  field: Field,
  value: Readonly<Record<string, unknown>>,
  keys: Keys,
  attempt: Attempt,
): Draft {
  const names = new Set(field.parts.map(({ name }) => name))
  const other = Object.keys(value).find((name) => !names.has(name))
  if (other !== undefined)
    throw new NoPlaceError(`${formatPath(ROOT, [...keys, other])} is no field of the form`)
  return setDraft(
    '',
    field.parts.map((part) =>
      write(
        part,
        Object.hasOwn(value, part.name) ? value[part.name] : undefined,
        [...keys, part.name],
        attempt,
      ),
    ),
  )
}

function writeMap(
  field: Field,
  value: Readonly<Record<string, unknown>>,
  keys: Keys,
  attempt: Attempt,
): Draft {
  return {
    ...setDraft('', []),
    parts: Object.entries(value).map(([key, inner], id) => ({
      ...{ id, key },
      draft: write(field.item!, inner, [...keys, key], attempt),
    })),
  }
}

/** The first alternative that has a place for it. */
function writeUnion(field: Field, value: unknown, keys: Keys, attempt: Attempt): Draft {
  for (const [chosen, part] of field.parts.entries()) {
    if (++attempt.tries > MAX_TRIES) break
    try {
      const draft = write(part, value, keys, attempt)
      const { parts } = openDraft(field)
      return {
        ...{ presence: 'set', text: String(chosen) },
        parts: parts.map((each) => ({ ...each, draft: each.id === chosen ? draft : OUT })),
      }
    } catch (error) {
      if (!(error instanceof NoPlaceError)) throw error
    }
  }
  throw new NoPlaceError(`${formatPath(ROOT, keys)} is none of its alternatives`)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
