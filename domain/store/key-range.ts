import { compareKeys } from './compare-keys.ts'

/** Range of keys. Absent fields do not limit it. */
export interface KeyBounds {
  readonly prefix?: string
  /** First key, inclusive. */
  readonly from?: string
  /** Exclusive end of the range. */
  readonly to?: string
  /** Last key of the previous page. The range continues after it in the requested order. */
  readonly after?: string
  /** Whether to use descending order. */
  readonly reverse?: boolean
}

/** Bounds of a range for adapters. */
export interface KeyRange {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** Returns the intersection of all bounds. */
export function toKeyRange({ prefix = '', from, to, after, reverse = false }: KeyBounds): KeyRange {
  const start = later(from, prefix === '' ? undefined : prefix)
  const end = earlier(to, toPrefixEnd(prefix))
  return after === undefined
    ? { from: start, to: end }
    : skipTo({ from: start, to: end }, after, reverse)
}

/** Returns the part of the range after a key. */
export function skipTo({ from, to }: KeyRange, key: string, reverse: boolean): KeyRange {
  // No key contains NUL, so a key with NUL appended is its direct successor.
  return reverse ? { from, to: earlier(to, key) } : { from: later(from, `${key}\0`), to }
}

/** Returns the first text after all texts with the prefix, or undefined if no such text exists. */
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
