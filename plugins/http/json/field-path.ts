/** All elements of a list, or all members of an object: `[*]`. */
export const EACH: unique symbol = Symbol('[*]')

/** Path of a field, which ends with a name. */
export type FieldPath = readonly (string | typeof EACH)[]

/** JSONPath root, which may be omitted. */
const ROOT = /^\$(?:\.(?=[^.[])|(?=\[))/
/** A name after a dot or at the start, `['a name']` or `["a name"]`, or `[*]`. */
const SEGMENT = /(\.?)([^.[\]'"\s]+)|\[(?:(\*)|'([^']+)'|"([^"]+)")\]/y

/**
 * Parses a path in JSONPath notation (RFC 9535), with or without `$`: `user.name`, `items[*].price`, `['a.b']`.
 *
 * @throws {TypeError} if it is malformed or does not end with a name.
 */
export function parseFieldPath(text: string): FieldPath {
  const path: (string | typeof EACH)[] = []
  const from = text.replace(ROOT, '')
  SEGMENT.lastIndex = 0
  for (let at = 0; at < from.length; at = SEGMENT.lastIndex) {
    const match = SEGMENT.exec(from)
    if (match === null) throw malformed(text)
    const [, dot, name, each, quoted, doubleQuoted] = match
    // Names after the first require a dot; the first must not have one.
    if (name !== undefined && (dot === '.') !== path.length > 0) throw malformed(text)
    path.push(each === undefined ? (name ?? quoted ?? doubleQuoted)! : EACH)
  }
  if (path.length === 0 || path.at(-1) === EACH) throw malformed(text)
  return path
}

function malformed(text: string): TypeError {
  return new TypeError(
    `a field path must have the form user.name, items[*].price or ['a.b'], got ${JSON.stringify(text)}`,
  )
}
