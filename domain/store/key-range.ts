import { compareKeys } from './compare-keys.ts'

/** Range of keys; absent fields do not limit it. */
export interface KeyBounds {
  readonly prefix?: string
  /** First key, inclusive. */
  readonly from?: string
  /** End of the range, exclusive. */
  readonly to?: string
  /** Last key of the previous page: the range continues after it, in the requested order. */
  readonly after?: string
  /** Descending order. */
  readonly reverse?: boolean
}

/** Bounds of an adapter's range. */
export interface KeyRange {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** Intersection of all bounds. */
export function toKeyRange({ prefix = '', from, to, after, reverse = false }: KeyBounds): KeyRange {
  const start = later(from, prefix === '' ? undefined : prefix)
  const end = earlier(to, toPrefixEnd(prefix))
  return after === undefined
    ? { from: start, to: end }
    : skipTo({ from: start, to: end }, after, reverse)
}

/** Part of the range after a key. */
export function skipTo({ from, to }: KeyRange, key: string, reverse: boolean): KeyRange {
  // No key contains NUL: a key with NUL appended is its direct successor.
  return reverse ? { from, to: earlier(to, key) } : { from: later(from, `${key}\0`), to }
}

/** First text after all with the prefix; undefined if none. */
function toPrefixEnd(prefix: string): string | undefined {
  const points = [...prefix]
  while (points.length > 0) {
    const next = points.pop()!.codePointAt(0)! + 1
    // Surrogates are not characters.
    if (next <= 0x10ffff)
      return points.join('') + String.fromCodePoint(next === 0xd800 ? 0xe000 : next)
  }
  return undefined
}

function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return compareKeys(a, b) < 0 ? b : a
}

function earlier(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return compareKeys(a, b) < 0 ? a : b
}
