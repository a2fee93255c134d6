import { compareKeys } from './compare-keys.ts'

/** Which keys are asked for; what is absent bounds nothing. */
export interface KeyBounds {
  /** What keys begin with. */
  readonly prefix?: string
  /** First key, itself included. */
  readonly from?: string
  /** Where to stop, itself excluded. */
  readonly to?: string
  /** The last key of the page before: what follows it, in the order that is asked for. */
  readonly after?: string
  /** From the last key to the first. */
  readonly reverse?: boolean
}

/** The bounds of an adapter's range. */
export interface KeyRange {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** One range that has all the bounds. */
export function toKeyRange({ prefix = '', from, to, after, reverse = false }: KeyBounds): KeyRange {
  const start = later(from, prefix === '' ? undefined : prefix)
  const end = earlier(to, toPrefixEnd(prefix))
  return after === undefined
    ? { from: start, to: end }
    : skipTo({ from: start, to: end }, after, reverse)
}

/** What of a range follows a key. */
export function skipTo({ from, to }: KeyRange, key: string, reverse: boolean): KeyRange {
  // No key has a NUL: with one behind it, a key is before all others that follow it.
  return reverse ? { from, to: earlier(to, key) } : { from: later(from, `${key}\0`), to }
}

/** The first text behind all that begin with `prefix`; undefined: there is none. */
function toPrefixEnd(prefix: string): string | undefined {
  const points = [...prefix]
  while (points.length > 0) {
    const next = points.pop()!.codePointAt(0)! + 1
    // Surrogates are no characters.
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
