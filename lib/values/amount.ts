import { parseDuration, parseSize } from '../text/units.ts'
import { single } from './value.ts'
import type { ValueType } from './value-type.ts'

/** Maximum delay of a Node.js timer; represents `none`. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1
/** Limit of NATS, which counts in nanoseconds. */
const MAX_AGE_MS = 100 * 365 * 86_400_000
const OR_NONE = 'a duration of at least 1ms, or none'

/** A duration in milliseconds; `minMs` limits the text, `maxMs` the value. */
function duration(
  allowed: string,
  minMs: number,
  maxMs: number,
  toValue: (ms: number) => number = (ms) => ms,
): ValueType<number> {
  return single('duration', allowed, (text, reject) => {
    const ms = parseDuration(text)
    const value = toValue(ms)
    if (ms < minMs || value > maxMs) throw reject()
    return value
  })
}

/** Milliseconds, at least 1; `none` is the maximum delay of a timer, 24 days. */
export const TIMEOUT: ValueType<number> = duration(OR_NONE, 1, MAX_TIMER_MS, (ms) =>
  Math.min(ms, MAX_TIMER_MS),
)
/** Milliseconds, at least 1; `none` is `Infinity`. */
export const MAX_TIME: ValueType<number> = {
  ...duration(OR_NONE, 1, Number.POSITIVE_INFINITY),
  placeholder: 'duration or none',
}
/** Milliseconds of a limited wait. */
export const DELAY: ValueType<number> = duration(
  'a duration of at most 24d, such as 5s',
  0,
  MAX_TIMER_MS,
)
/** Milliseconds of a dashboard session. */
export const SESSION_TIME: ValueType<number> = duration(
  'a duration from 1m to 24d, such as 30m',
  60_000,
  MAX_TIMER_MS,
)
/** Milliseconds that events are stored; `none` is 0. */
export const RETENTION_TIME: ValueType<number> = duration(
  'a duration from 1s to 36500d, or none',
  1000,
  MAX_AGE_MS,
  (ms) => (ms === Number.POSITIVE_INFINITY ? 0 : ms),
)

/** Bytes, at least 1; `none` is `Infinity`. */
export const SIZE: ValueType<number> = single(
  'size',
  'a size of at least 1 byte, or none',
  (text, reject) => {
    const bytes = parseSize(text)
    if (bytes < 1) throw reject()
    return bytes
  },
)
/** Like {@link SIZE}, but `none` is 0. */
export const SIZE_OR_ZERO: ValueType<number> = {
  ...SIZE,
  parse: (texts) => {
    const bytes = SIZE.parse(texts)
    return Number.isFinite(bytes) ? bytes : 0
  },
}
/** Like {@link SIZE}, or the word `auto`. */
export const SIZE_OR_AUTO: ValueType<number | 'auto'> = orAuto({
  ...SIZE,
  placeholder: 'size or auto',
  allowed: 'a size of at least 1 byte, none, or auto',
})

/** A whole number. */
export function count(min: number, max: number, or: string = ''): ValueType<number> {
  return single('number', `a whole number from ${min} to ${max}${or}`, (text, reject) => {
    const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max)) throw reject()
    return value
  })
}

/** A whole number, or the word `auto`. */
export function countOrAuto(min: number, max: number): ValueType<number | 'auto'> {
  return orAuto(count(min, max, ', or auto'))
}

/** Number of processor cores; `none` is 0. */
export const CORES: ValueType<number> = single(
  'cores',
  'a number of cores from 0 to 1024 such as 0.5, or none',
  (text, reject) => {
    const trimmed = text.trim()
    if (trimmed === 'none') return 0
    const cores = /^[0-9]{1,4}(?:\.[0-9]{1,3})?$/.test(trimmed) ? Number(trimmed) : Number.NaN
    if (!(cores <= 1024)) throw reject()
    return cores
  },
)

function orAuto(type: ValueType<number>): ValueType<number | 'auto'> {
  return { ...type, parse: (texts) => (texts[0]?.trim() === 'auto' ? 'auto' : type.parse(texts)) }
}
