/** Places. Power of two. */
const SLOTS = 1024
/** Longest text kept, characters. */
const MAX_LENGTH = 256

/**
 * What texts seen lately stand for, each in the one place it leads to: a text that comes is compared with one other, and
 * keeps out whatever was there. Half as dear as a `Map`, which has to work out the hash of every string that is new, though
 * its text is not. Micro-benchmark: `text-memo`.
 */
export class DirectMappedCache<T> {
  readonly #texts: (string | undefined)[] = new Array(SLOTS).fill(undefined)
  readonly #values: (T | undefined)[] = new Array(SLOTS).fill(undefined)

  /** Undefined: it is not known. */
  find(text: string): T | undefined {
    const slot = slotOf(text)
    return this.#texts[slot] === text ? this.#values[slot] : undefined
  }

  keep(text: string, value: T): void {
    if (text.length > MAX_LENGTH) return
    const slot = slotOf(text)
    this.#texts[slot] = text
    this.#values[slot] = value
  }
}

/** By length and three characters. */
function slotOf(text: string): number {
  const { length } = text
  if (length === 0) return 0
  const last = text.charCodeAt(length - 1)
  const inner = text.charCodeAt(length >> 1) + 31 * text.charCodeAt((length * 3) >> 2)
  return (length * 67 + last * 7 + inner) & (SLOTS - 1)
}
