/**
 * A value as JSON.
 *
 * @param rule what it must be, for errors: `message must be bytes or what JSON can say`.
 * @throws {TypeError} for a value JSON cannot say, saying why.
 */
export function toJsonText(value: unknown, rule: string): string {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    const { message } = cause as Error
    const reason = message.includes('BigInt')
      ? 'it has a bigint, which can be said as a text'
      : message.split('\n', 1)[0]!
    throw new TypeError(`${rule}: ${reason}`, { cause })
  }
  if (json === undefined) throw new TypeError(`${rule}, got ${typeof value}`)
  return json
}
