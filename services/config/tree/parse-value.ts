import { quote } from '../../../core/request/bad-request.ts'
import { parseJson } from '../../../core/request/json/json.ts'
import { skipBlanks, skipValue, visitMembers } from '../../../core/request/json/json-text.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { formatPath, isName, KEY_RULE, MAX_DEPTH, MAX_PATH_BYTES } from './path.ts'

/** Value to be set. An object is a map; any other value is its JSON text without whitespace. */
export type ConfigInput = string | ConfigInputMap
export type ConfigInputMap = ReadonlyMap<string, ConfigInput>

const FIELD = 'request.value.data'

/**
 * Parses the value to be set at a path. A string that contains a JSON object counts as that object
 * (specification: Config entry).
 *
 * Numbers keep their notation, which may exceed the precision of a program; strings are normalized
 * like `JSON.stringify`.
 *
 * @throws {GatewayError} 400 if the text is not JSON, is nested too deeply, or contains a duplicate
 * name or a name that is invalid in paths.
 */
export function parseValue(data: string, path: readonly string[], id: string): ConfigInput {
  const value = parseJson(data, FIELD, id)
  const isObject = typeof value === 'string' && isJsonObject(value)
  if (isObject) parseJson(value, FIELD, id)
  const text = isObject ? value : data
  let at = skipBlanks(text, 0)

  const read = (names: readonly string[]): ConfigInput => {
    if (text[at] !== '{') return readLeaf(names.length)
    const map = new Map<string, ConfigInput>()
    readMembers(names.length, (name) => {
      if (!isName(name))
        throw badRequest(id, `${FIELD} must not contain the name ${quote(name)}: names ${KEY_RULE}`)
      const inner = [...names, name]
      const innerPath = formatPath(inner)
      if (Buffer.byteLength(innerPath) > MAX_PATH_BYTES)
        throw badRequest(
          id,
          `${FIELD} must not contain paths longer than ${MAX_PATH_BYTES} bytes, got ${quote(innerPath)}`,
        )
      map.set(name, read(inner))
    })
    return map
  }

  const readLeaf = (depth: number): string => {
    const parts: string[] = []
    if (text[at] === '{') {
      readMembers(depth, (name) => parts.push(`${JSON.stringify(name)}:${readLeaf(depth + 1)}`))
      return `{${parts.join()}}`
    }
    if (text[at] === '[') {
      checkDepth(depth)
      at = skipBlanks(text, at + 1)
      while (text[at] !== ']') {
        parts.push(readLeaf(depth + 1))
        at = skipBlanks(text, at)
        if (text[at] === ',') at = skipBlanks(text, at + 1)
      }
      at++
      return `[${parts.join()}]`
    }
    const end = skipValue(text, at)
    const written = text.slice(at, end)
    at = end
    return written.includes('\\') ? JSON.stringify(JSON.parse(written)) : written
  }

  function readMembers(depth: number, readMember: (name: string) => void): void {
    checkDepth(depth)
    const seenNames = new Set<string>()
    at = visitMembers(text, at, (name, start) => {
      if (seenNames.has(name))
        throw badRequest(
          id,
          `${FIELD} must not contain the duplicate name ${quote(name)} in an object`,
        )
      seenNames.add(name)
      at = start
      readMember(name)
      return at
    })
  }

  /** @param depth number of enclosing names and lists. */
  function checkDepth(depth: number): void {
    if (depth >= MAX_DEPTH)
      throw badRequest(id, `${FIELD} must not nest deeper than ${MAX_DEPTH}, including its path`)
  }

  return read(path)
}

function isJsonObject(text: string): boolean {
  if (text[skipBlanks(text, 0)] !== '{') return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
