/**
 * Parses metadata: one `name=value` per line, or a JSON object of strings.
 *
 * @throws {RangeError} naming the invalid line or member.
 */
export function parseMetadata(text: string): Record<string, string> {
  const pairs = text.trim().startsWith('{') ? parseObject(text) : parseLines(text)
  return Object.fromEntries(pairs)
}

/** Formats metadata for {@link parseMetadata}. */
export function writeMetadata(metadata: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(metadata)
  const canBeLines = pairs.every(
    ([name, value], i) =>
      name !== '' &&
      name.trim() === name &&
      !/[=\r\n]/.test(name) &&
      !(i === 0 && name.startsWith('{')) &&
      value.trim() === value &&
      !/[\r\n]/.test(value),
  )
  return canBeLines
    ? pairs.map(([name, value]) => `${name}=${value}`).join('\n')
    : JSON.stringify(metadata, null, 2)
}

type Pairs = (readonly [name: string, value: string])[]

function parseLines(text: string): Pairs {
  const pairs: Pairs = []
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    const name = line.slice(0, at).trim()
    if (at < 0 || name === '')
      throw new RangeError(`line ${i + 1} must be name=value, got ${JSON.stringify(line)}`)
    if (pairs.some(([before]) => before === name))
      throw new RangeError(`line ${i + 1}: duplicate name ${name}`)
    pairs.push([name, line.slice(at + 1).trim()])
  }
  return pairs
}

function parseObject(text: string): Pairs {
  let value: object
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new RangeError(`invalid JSON: ${(cause as Error).message}`, { cause })
  }
  return Object.entries(value).map(([name, member]) => {
    if (typeof member === 'string') return [name, member]
    throw new RangeError(`${name} must be a string, got ${JSON.stringify(member)}`)
  })
}
