/** Maximum number of digits of a 64-bit integer. */
const MAX_DIGITS = 20

/** A number with a fraction or an exponent (RFC 8259 §6). */
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/

/**
 * Parses an integer without leading zeros. Returns a number if it is safe, otherwise a string, which JSON readers with
 * 64-bit integers accept as well (ProtoJSON mapping). `1.0` and `1e3` are integers, as in JSON Schema. Returns
 * undefined for other text and for integers out of bounds.
 */
export function parseInteger(text: string, min: bigint, max: bigint): number | string | undefined {
  if (/[.eE]/.test(text)) {
    const integer = toIntegerText(text)
    return integer === undefined ? undefined : parseInteger(integer, min, max)
  }
  const negative = text.charCodeAt(0) === 0x2d
  const first = negative ? 1 : 0
  if (text.length === first) return undefined
  let start = first
  while (start < text.length - 1 && text.charCodeAt(start) === 0x30) start++
  // Checked before BigInt, whose time grows faster than the number of digits.
  if (text.length - start > MAX_DIGITS) return undefined
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return undefined
  }
  const digits = start === 0 ? text : `${negative ? '-' : ''}${text.slice(start)}`
  const number = Number(digits)
  if (Number.isSafeInteger(number)) {
    // -0 becomes 0, as JSON.stringify writes it.
    return number >= min && number <= max ? number + 0 : undefined
  }
  const exact = BigInt(digits)
  return exact >= min && exact <= max ? exact.toString() : undefined
}

/**
 * Returns the digits of a number with a fraction or an exponent, or undefined if it is not an integer or has more
 * digits than 64 bits.
 */
function toIntegerText(text: string): string | undefined {
  const [, sign = '', integer, fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  if (integer === undefined) return undefined
  const digits = integer + fraction
  let start = 0
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--
  if (end === 0) return '0'
  while (digits.charCodeAt(start) === 0x30) start++
  const point = integer.length + Number(exponent)
  if (point < end || point - start > MAX_DIGITS) return undefined
  return sign + digits.slice(start, end).padEnd(point - start, '0')
}

/** Formats JSON with bigints: as numbers if they are safe integers, otherwise as strings. */
export function formatInt64Json(value: unknown): string {
  return JSON.stringify(value, formatBigint)
}

function formatBigint(_name: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}
