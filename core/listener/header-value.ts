const UNPRINTABLE = /[^\x20-\x7e]/
const SHORT = 24
/** RFC 9110 §5.5: all control characters except tabs. */
const CONTROL = /[\0-\x08\n-\x1f\x7f]/
const NON_ASCII = /[\x80-\xff]/
/**
 * Headers that frame the message or control its connection. Their values are ASCII by definition (RFC 9110 §5.5).
 * Parsers differ in trimming other bytes, so that two parsers could read two different messages.
 */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'transfer-encoding',
  'upgrade',
])

/**
 * Whether a header value consists of visible ASCII characters and spaces. Nearly all do; {@link checkValue} checks the
 * others.
 */
export function isPrintable(value: string): boolean {
  // For short values, a loop is cheaper than starting a regular expression.
  if (value.length > SHORT) return !UNPRINTABLE.test(value)
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 0x20 || code > 0x7e) return false
  }
  return true
}

/** Whether a header value contains a byte beyond ASCII. */
export function hasNonAscii(value: string): boolean {
  return NON_ASCII.test(value)
}

/**
 * Returns why a header value is invalid, or undefined if it is valid.
 *
 * @param name in lower case.
 * @param value one character per byte.
 */
export function checkValue(name: string, value: string): string | undefined {
  if (CONTROL.test(value)) return 'header values must not contain control characters'
  if (FRAMING.has(name) && NON_ASCII.test(value)) return `header ${name} must be ASCII`
  return undefined
}
