import { toRawBytes } from '../codec/raw-bytes.ts'

/**
 * Serializes a configuration value. Bigints become numbers, or strings beyond 2^53.
 *
 * @throws {TypeError} for values that JSON would drop or change: undefined, functions, NaN, bytes.
 */
export function formatConfigValue(value: unknown): string {
  const json = JSON.stringify(value, replace) as string | undefined
  if (json === undefined) throw notSerializable(typeof value)
  return json
}

/** `this` is the parent, which holds the value before `toJSON`. */
function replace(this: unknown, name: string, value: unknown): unknown {
  const member = (this as Readonly<Record<string, unknown>>)[name]
  if (toRawBytes(member) !== undefined) throw notSerializable('bytes')
  if (typeof value === 'number' && !Number.isFinite(value)) throw notSerializable(String(value))
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

function notSerializable(description: string): TypeError {
  return new TypeError(`a configuration value must be a JSON value, got ${description}`)
}
