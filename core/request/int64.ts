/** Most digits of a 64-bit integer. */
const MAX_DIGITS = 20

/**
 * Whole number from decimal text, leading zeros dropped: a number while it is safe, else a string, which JSON
 * readers that know 64-bit integers accept as well (ProtoJSON mapping). Undefined when it is none or out of bounds.
 */
export function parseInteger(text: string, min: bigint, max: bigint): number | string | undefined {
  const negative = text.charCodeAt(0) === 0x2d
  const first = negative ? 1 : 0
  if (text.length === first) return undefined
  let start = first
  while (start < text.length - 1 && text.charCodeAt(start) === 0x30) start++
  // Before BigInt sees it: its time grows faster than the number of digits.
  if (text.length - start > MAX_DIGITS) return undefined
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return undefined
  }
  const digits = start === 0 ? text : `${negative ? '-' : ''}${text.slice(start)}`
  const number = Number(digits)
  if (Number.isSafeInteger(number)) {
    // -0 is 0: JSON.stringify writes it so.
    return number >= min && number <= max ? number + 0 : undefined
  }
  const exact = BigInt(digits)
  return exact >= min && exact <= max ? exact.toString() : undefined
}

/** JSON of a value that may hold bigints: numbers while they are safe, else strings. */
export function formatJson(value: unknown): string {
  return JSON.stringify(value, formatBigint)
}

function formatBigint(_name: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}
