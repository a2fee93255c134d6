import { parseInteger as parseDecimal } from '../../core/request/json/int64.ts'

const INTEGER = /^([+-]?)(0x[\da-f]+|0o[0-7]+|0b[01]+|\d+)$/i
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/**
 * Integer types of the registry. `integer` is defined by JSON Schema and must be exact as a JSON number (RFC 8259
 * section 6).
 */
export type IntegerType = 'integer' | 'int32' | 'int64' | 'uint32' | 'uint64'

/** Ranges of the integer types; `end` is exclusive. */
const RANGES: Readonly<Record<IntegerType, { readonly least: bigint; readonly end: bigint }>> = {
  integer: { least: -(2n ** 53n) + 1n, end: 2n ** 53n },
  int32: { least: -(2n ** 31n), end: 2n ** 31n },
  int64: { least: -(2n ** 63n), end: 2n ** 63n },
  uint32: { least: 0n, end: 2n ** 32n },
  uint64: { least: 0n, end: 2n ** 64n },
}

export function isIntegerType(type: string | undefined): type is IntegerType {
  return type !== undefined && Object.hasOwn(RANGES, type)
}

/**
 * Parses an integer such as 42, `1e3`, `1.0`, `0x2a`, `0o17` or `0b11`.
 *
 * @returns a number if it is a safe integer, else a string of digits (reference 15.11).
 * @throws {RangeError} with the requirement: `must be an int64 such as 42 or 0x2a, got "x"`.
 */
export function parseInteger(text: string, type: IntegerType): number | string {
  const { least, end } = RANGES[type]
  const [, sign, digits] = INTEGER.exec(text) ?? []
  const size = digits === undefined ? undefined : BigInt(digits)
  const value = size !== undefined && sign === '-' ? -size : size
  const decimal = value === undefined ? parseDecimal(text, least, end - 1n) : undefined
  if (decimal !== undefined) return decimal
  if (value === undefined)
    throw new RangeError(`must be an ${type} such as 42 or 0x2a, got ${showText(text)}`)
  if (value < least || value >= end)
    throw new RangeError(`must be an ${type}, from ${least} to ${end - 1n}, got ${showText(text)}`)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** Parses a number, with or without an exponent. @throws {RangeError} with the requirement. */
export function parseNumber(text: string): number {
  const number = DECIMAL.test(text) ? Number(text) : Number.NaN
  if (Number.isFinite(number)) return number
  throw new RangeError(`must be a number such as 1.5, got ${showText(text)}`)
}

function showText(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
