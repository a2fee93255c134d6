/**
 * Compares well-formed texts by their UTF-8 bytes, whereas JavaScript compares UTF-16 code units.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const unitOfA = a.charCodeAt(i)
    const unitOfB = b.charCodeAt(i)
    if (unitOfA !== unitOfB) return toRank(unitOfA) - toRank(unitOfB)
  }
  return a.length - b.length
}

// Surrogates encode characters beyond U+FFFF but are less than U+E000.
function toRank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
