const START = 'traceparent: '
const END = '\r\n'

/**
 * A request head or metadata block with another `traceparent` in place of the one in it, whatever that says. One that has none stays
 * as it is: somebody took it out.
 */
export function stampTraceparent(block: string, traceparent: string): string {
  let at = 0
  if (!block.startsWith(START)) {
    at = block.indexOf(`${END}${START}`) + END.length
    if (at < END.length) return block
  }
  const from = at + START.length
  const end = block.indexOf(END, from)
  const rest = end < 0 ? '' : block.slice(end)
  return `${block.slice(0, from)}${traceparent}${rest}`
}
