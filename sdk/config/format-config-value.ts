import { toRawBytes } from '../codec/raw-bytes.ts'

/**
 * A value as JSON, for the configuration. A bigint is a number, or, beyond 2^53, text.
 *
 * @throws {TypeError} for what JSON cannot say, or makes something else of: undefined, functions, NaN, bytes.
 */
export function formatConfigValue(value: unknown): string {
  const json = JSON.stringify(value, refuse) as string | undefined
  if (json === undefined) throw cannotSay(typeof value)
  return json
}

/** `this`: what the member belongs to. What is there before `toJSON` made something of it counts. */
function refuse(this: unknown, name: string, value: unknown): unknown {
  const given = (this as Readonly<Record<string, unknown>>)[name]
  if (toRawBytes(given) !== undefined) throw cannotSay('bytes')
  if (typeof value === 'number' && !Number.isFinite(value)) throw cannotSay(String(value))
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

function cannotSay(what: string): TypeError {
  return new TypeError(`a value of the configuration must be something JSON can say, got ${what}`)
}
