const START = 'traceparent: '
const END = '\r\n'

/**
 * Replaces the `traceparent` in a request head or metadata block. A block without one does not change, since a plugin
 * removed it.
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
