const LINE = /^([^\s:]+):[ \t]*(.*)$/

/**
 * Parses headers, one `Name: value` per line. Repeated headers are combined into a list (RFC 9110
 * §5.3).
 *
 * @throws {RangeError} with the number of the first invalid line.
 */
export function readHeaders(text: string): Readonly<Record<string, string>> {
  const headers = new Map<string, string>()
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const [, name, value] = LINE.exec(line.trim()) ?? []
    if (name === undefined || value === undefined)
      throw new RangeError(
        `line ${i + 1} must be "Name: value", got ${JSON.stringify(line.trim())}`,
      )
    const key = name.toLowerCase()
    const before = headers.get(key)
    headers.set(key, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(headers)
}
