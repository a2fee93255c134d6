const UNPRINTABLE = /[^\x20-\x7e]/
const SHORT = 24
/** RFC 9110 §5.5: all control characters but the tab. */
const CONTROL = /[\0-\x08\n-\x1f\x7f]/
const NON_ASCII = /[\x80-\xff]/
/**
 * Headers that decide where a message ends or what becomes of its connection. Their values are ASCII by definition (RFC 9110 §5.5): a
 * byte beyond it is trimmed by some parsers and not by others, so that two of them could read two different messages.
 */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'transfer-encoding',
  'upgrade',
])

/** Whether a header value consists of visible ASCII and spaces. Nearly all do; the others are checked by {@link judgeValue}. */
export function isPrintable(value: string): boolean {
  // A look at each character of a short one costs less than starting a regular expression.
  if (value.length > SHORT) return !UNPRINTABLE.test(value)
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

/** Whether a header value holds a byte beyond ASCII. */
export function hasNonAscii(value: string): boolean {
  return NON_ASCII.test(value)
}

/**
 * Returns why a header must not have this value; undefined: it may.
 *
 * @param name lower case.
 * @param value one character a byte.
 */
export function judgeValue(name: string, value: string): string | undefined {
  if (CONTROL.test(value)) return 'header values must not hold control characters'
  if (FRAMING.has(name) && NON_ASCII.test(value)) return `header ${name} must be ASCII`
  return undefined
}
