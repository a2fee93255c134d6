/** A start position, as entered in the form. */
export interface StartDraft {
  readonly from: 'new' | 'oldest' | 'sequence' | 'time'
  readonly sequence: string
  /** Value of a `datetime-local` input, such as `2026-11-22T21:30:00`. */
  readonly time: string
}

/** A start position, as sent in a request of `Stream.Consume`; empty for new events. */
export interface Start {
  readonly sequence?: number
  readonly offset_ms?: number
}

export const NEW: StartDraft = { from: 'new', sequence: '', time: '' }

/** Parses a start position. @throws {RangeError} for invalid input. */
export function parseStart({ from, sequence, time }: StartDraft): Start {
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
function parseSequence(text: string): number {
  const sequence = Number(text)
  if (/^\d+$/.test(text.trim()) && sequence >= 1 && Number.isSafeInteger(sequence)) return sequence
  throw new RangeError(`sequence must be a positive integer, got ${JSON.stringify(text)}`)
}

/** Parses a time into Unix time in milliseconds. @throws {RangeError} */
export function parseTime(text: string): number {
  const ms = new Date(text).getTime()
  // The service treats 0 as unset.
  if (ms > 0) return ms
  throw new RangeError('time must be a date and time after 1970')
}
