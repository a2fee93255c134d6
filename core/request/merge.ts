import { createNullProto } from '../../lib/object/null-proto.ts'
import { GATEWAY_ID } from '../errors.ts'
import { badRequest, quote } from './bad-request.ts'
import { type Fields, isFields } from './fields.ts'
import { type JsonObject, parseJson } from './json/json.ts'
import { skipBlanks, skipValue, visitMembers } from './json/json-text.ts'
import { decodeUtf8 } from './utf8.ts'

/**
 * Merges fields; `winner` takes precedence. Objects are merged recursively, lists are not (RFC 7396). Does not change
 * the arguments.
 */
export function mergeFields(base: Fields, winner: Fields): Fields {
  const merged: Fields = createNullProto()
  for (const name of Object.keys(base)) merged[name] = base[name]!
  for (const name of Object.keys(winner)) {
    const below = merged[name]
    const above = winner[name]!
    merged[name] =
      below !== undefined && isFields(below) && isFields(above) ? mergeFields(below, above) : above
  }
  return merged
}

/** Text to insert at a position. */
interface Insertion {
  readonly at: number
  readonly text: string
}

/**
 * Adds members of `base` that a JSON body lacks. The body takes precedence. Objects are merged recursively (RFC 7396
 * without removal by null: a `null` in the body is a value).
 *
 * Preserves the text of the body, so that numbers keep all digits.
 *
 * @throws {GatewayError} 400 as `parseJson`, or if the body is not an object and `base` has members.
 */
export function mergeJson(
  base: JsonObject,
  body: string | Uint8Array,
  id: string = GATEWAY_ID,
): string {
  const text = typeof body === 'string' ? body : decodeUtf8(body, 'request body', id)
  parseJson(text, 'request body', id)
  const open = skipBlanks(text, 0)
  if (text[open] !== '{') {
    if (Object.keys(base).length === 0) return text
    const detail = `request body must be a JSON object, because query or path fields are merged into it, got ${quote(text)}`
    throw badRequest(id, detail)
  }
  const insertions: Insertion[] = []
  addMissing(text, open, base, insertions)
  insertions.sort((a, b) => a.at - b.at)
  let merged = ''
  let done = 0
  for (const { at, text: added } of insertions) {
    merged += text.slice(done, at) + added
    done = at
  }
  return merged + text.slice(done)
}

/** Collects the members of `base` that the object at `open` lacks. Returns the end of the object. */
function addMissing(text: string, open: number, base: JsonObject, insertions: Insertion[]): number {
  const present = new Set<string>()
  const end = visitMembers(text, open, (name, start) => {
    present.add(name)
    const below = Object.hasOwn(base, name) ? base[name] : undefined
    return text[start] === '{' && isObject(below)
      ? addMissing(text, start, below, insertions)
      : skipValue(text, start)
  })
  let added = ''
  for (const name of Object.keys(base)) {
    if (present.has(name)) continue
    if (added !== '') added += ','
    added += `${JSON.stringify(name)}:${JSON.stringify(base[name])}`
  }
  if (added !== '') insertions.push({ at: open + 1, text: present.size > 0 ? `${added},` : added })
  return end
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
