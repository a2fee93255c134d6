import { formatKeyPath } from '../../sdk/schema/schema-error.ts'
import { ABSENT, type Draft, emptyDraft, openDraft, setDraft } from './draft.ts'
import type { Field } from './field.ts'
import { ROOT } from './to-request.ts'

type Keys = readonly PropertyKey[]

/** Thrown if the form cannot represent a request. The message starts with the path. */
class UnsupportedError extends Error {}

/** Maximum depth of the form, whose levels are nested visually. */
const MAX_DEPTH = 50
/** Maximum number of alternatives to try, which can be exponential for recursive unions. */
const MAX_TRIES = 10_000

interface Attempt {
  tries: number
}

/**
 * Fills the form from a request.
 *
 * @throws {UnsupportedError} for values that the form cannot represent, such as a field that is not in the schema.
 */
export function fromRequest(field: Field, value: unknown): Draft {
  return write(field, value, [], { tries: 0 })
}

function write(field: Field, value: unknown, keys: Keys, attempt: Attempt): Draft {
  if (keys.length > MAX_DEPTH)
    throw new UnsupportedError(
      `${formatKeyPath(ROOT, keys.slice(0, 1))} is nested too deep for the form`,
    )
  if (value === undefined) return keys.length === 0 ? emptyDraft(field) : ABSENT
  if (value === null && field.isNullable) return { ...ABSENT, presence: 'null' }
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
  throw new UnsupportedError(`${formatKeyPath(ROOT, keys)} is not a valid ${field.type}`)
}

/** Formats a scalar; undefined if the value does not match the kind. */
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
  const unknown = Object.keys(value).find((name) => !names.has(name))
  if (unknown !== undefined)
    throw new UnsupportedError(`${formatKeyPath(ROOT, [...keys, unknown])} is not in the schema`)
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

/** Uses the first alternative that can represent the value. */
function writeUnion(field: Field, value: unknown, keys: Keys, attempt: Attempt): Draft {
  for (const [index, part] of field.parts.entries()) {
    if (++attempt.tries > MAX_TRIES) break
    try {
      const draft = write(part, value, keys, attempt)
      const { parts } = openDraft(field)
      return {
        ...{ presence: 'set', text: String(index) },
        parts: parts.map((each) => ({ ...each, draft: each.id === index ? draft : ABSENT })),
      }
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error
    }
  }
  throw new UnsupportedError(`${formatKeyPath(ROOT, keys)} does not match any alternative`)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
