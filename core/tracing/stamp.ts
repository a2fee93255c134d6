const START = 'traceparent: '
const LENGTH = 55

/**
 * A request head or metadata block with another `traceparent` in place of the one in it, which must be of version 00. One that has
 * none stays as it is: somebody took it out.
 */
export function stampTraceparent(block: string, traceparent: string): string {
  let at = 0
  if (!block.startsWith(START)) {
    at = block.indexOf(`\r\n${START}`) + 2
    if (at < 2) return block
  }
  const from = at + START.length
  return `${block.slice(0, from)}${traceparent}${block.slice(from + LENGTH)}`
}
