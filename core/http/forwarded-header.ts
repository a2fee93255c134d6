/** One element of `Forwarded`: parameters by lower-case name, such as `for`, `host` and `proto`. */
export type ForwardedElement = ReadonlyMap<string, string>

/** An optional parameter and the delimiter after it. */
const PARAMETER =
  /[ \t]*(?:([!#$%&'*+\-.^_`|~0-9a-z]+)=(?:([!#$%&'*+\-.^_`|~0-9a-z]+)|"((?:[^"\\]|\\.)*)"))?[ \t]*([;,]|$)/iy

/**
 * Parses the value of `Forwarded` (RFC 7239 §4), with several lines joined by `, `. Omits empty elements.
 *
 * Returns undefined for a malformed value, no part of which is trustworthy: an unclosed quote could hide the element
 * appended by a proxy.
 */
export function parseForwarded(value: string): ForwardedElement[] | undefined {
  const elements: ForwardedElement[] = []
  let element = new Map<string, string>()
  PARAMETER.lastIndex = 0
  for (;;) {
    const match = PARAMETER.exec(value)
    if (match === null) return undefined
    const [, name, token, quoted, delimiter] = match
    if (name !== undefined) {
      const key = name.toLowerCase()
      if (element.has(key)) return undefined
      element.set(key, token ?? quoted!.replace(/\\(.)/g, '$1'))
    }
    if (delimiter === ';') continue
    if (element.size > 0) elements.push(element)
    if (delimiter === '') return elements
    element = new Map()
  }
}
