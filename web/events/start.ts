/** Where to begin, as it was chosen and typed. */
export interface TypedStart {
  readonly from: 'new' | 'oldest' | 'sequence' | 'time'
  /** Of a field for numbers. */
  readonly sequence: string
  /** Of a field for local times, `2026-11-22T21:30:00`. */
  readonly time: string
}

/** The part of a request of `Stream.Consume` that says it; nothing: with what is new. */
export interface Start {
  readonly sequence?: number
  readonly offset_ms?: number
}

export const NEW: TypedStart = { from: 'new', sequence: '', time: '' }

/** @throws {RangeError} what is wrong with it. */
export function parseStart({ from, sequence, time }: TypedStart): Start {
  switch (from) {
    case 'new':
      return {}
    case 'oldest':
      return { sequence: 1 }
    case 'sequence':
      return { sequence: parseSequence(sequence) }
    case 'time':
      return { offset_ms: parseTime(time) }
  }
}

/** @throws {RangeError} */
function parseSequence(typed: string): number {
  const sequence = Number(typed)
  if (/^\d+$/.test(typed.trim()) && sequence >= 1 && Number.isSafeInteger(sequence)) return sequence
  throw new RangeError(`a sequence is a whole number from 1 on, got ${JSON.stringify(typed)}`)
}

/** Milliseconds since 1970. @throws {RangeError} */
export function parseTime(typed: string): number {
  const ms = new Date(typed).getTime()
  // 0 stands for no time.
  if (ms > 0) return ms
  throw new RangeError('a time is a date from 1970 on, and a time of day')
}
