/** Every element of a list, or every member of an object: `[*]`. */
export const EACH: unique symbol = Symbol('[*]')

/** Path of a field; ends with a name. */
export type FieldPath = readonly (string | typeof EACH)[]

/** Root of JSONPath, which may be omitted. */
const ROOT = /^\$(?:\.(?=[^.[])|(?=\[))/
/** A name after a dot or at the start, `['a name']` or `["a name"]`, or `[*]`. */
const SEGMENT = /(\.?)([^.[\]'"\s]+)|\[(?:(\*)|'([^']+)'|"([^"]+)")\]/y

/**
 * Parses a path in the notation of JSONPath (RFC 9535), with or without `$`: `user.name`, `items[*].price`, `['a.b']`.
 *
 * @throws {TypeError} when it is malformed, or does not end with a name.
 */
export function parseFieldPath(text: string): FieldPath {
  const path: (string | typeof EACH)[] = []
  const from = text.replace(ROOT, '')
  SEGMENT.lastIndex = 0
  for (let at = 0; at < from.length; at = SEGMENT.lastIndex) {
    const match = SEGMENT.exec(from)
    if (match === null) throw malformed(text)
    const [, dot, name, each, quoted, doubleQuoted] = match
    // A dot separates two names; a name directly follows nothing else.
    if (name !== undefined && (dot === '.') !== path.length > 0) throw malformed(text)
    path.push(each === undefined ? (name ?? quoted ?? doubleQuoted)! : EACH)
  }
  if (path.length === 0 || path.at(-1) === EACH) throw malformed(text)
  return path
}

function malformed(text: string): TypeError {
  return new TypeError(
    `the path of a field must be like user.name, items[*].price or ['a.b'], got ${JSON.stringify(text)}`,
  )
}
