/** Number of slots. Power of two. */
const SLOTS = 1024
/** Maximum length of a cached text in characters. */
const MAX_LENGTH = 256

/**
 * Direct-mapped cache by text: each text has one slot, whose entry it replaces. Costs half as much as a `Map` lookup,
 * which hashes every new string object, even for a known text. Micro-benchmark: `text-memo`.
 */
export class DirectMappedCache<T> {
  readonly #texts: (string | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #values: (T | undefined)[] = new Array(SLOTS).fill(undefined)

  get(text: string): T | undefined {
    const slot = slotOf(text)
    return this.#texts[slot] === text ? this.#values[slot] : undefined
  }

  set(text: string, value: T): void {
    if (text.length > MAX_LENGTH) return
    const slot = slotOf(text)
    this.#texts[slot] = text
    this.#values[slot] = value
  }
}

/** Hashes the length and three characters. */
function slotOf(text: string): number {
  const { length } = text
  if (length === 0) return 0
  const last = text.charCodeAt(length - 1)
  const inner = text.charCodeAt(length >> 1) + 31 * text.charCodeAt((length * 3) >> 2)
  return (length * 67 + last * 7 + inner) & (SLOTS - 1)
}
