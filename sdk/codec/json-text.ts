/**
 * Serializes a value as JSON.
 *
 * @param rule requirement quoted in errors, such as `message must be bytes or a JSON value`.
 * @throws {TypeError} for a value that JSON cannot represent, with the reason.
 */
export function toJsonText(value: unknown, rule: string): string {
  let json: string | undefined
  try {
    json = JSON.stringify(value)
  } catch (cause) {
    const { message } = cause as Error
    const reason = message.includes('BigInt')
      ? 'it contains a bigint: send it as a string'
      : message.split('\n', 1)[0]!
    throw new TypeError(`${rule}: ${reason}`, { cause })
  }
  if (json === undefined) throw new TypeError(`${rule}, got ${typeof value}`)
  return json
}
