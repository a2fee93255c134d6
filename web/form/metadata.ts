/**
 * Metadata as it is typed: `name=value`, one a line, or an object in JSON, whose values are texts.
 *
 * @throws {RangeError} naming the line, or the member, that is wrong.
 */
export function parseMetadata(typed: string): Record<string, string> {
  const pairs = typed.trim().startsWith('{') ? parseObject(typed) : parseLines(typed)
  return Object.fromEntries(pairs)
}

/** As {@link parseMetadata} reads it. */
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

function parseLines(typed: string): Pairs {
  const pairs: Pairs = []
  for (const [i, line] of typed.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    const name = line.slice(0, at).trim()
    if (at < 0 || name === '')
      throw new RangeError(`line ${i + 1} must be name=value, got ${JSON.stringify(line)}`)
    if (pairs.some(([before]) => before === name))
      throw new RangeError(`line ${i + 1}: ${name} is there already`)
    pairs.push([name, line.slice(at + 1).trim()])
  }
  return pairs
}

function parseObject(typed: string): Pairs {
  let value: object
  try {
    value = JSON.parse(typed)
  } catch (cause) {
    throw new RangeError(`this is no JSON: ${(cause as Error).message}`, { cause })
  }
  return Object.entries(value).map(([name, text]) => {
    if (typeof text === 'string') return [name, text]
    throw new RangeError(`${name} must be a text, got ${JSON.stringify(text)}`)
  })
}
