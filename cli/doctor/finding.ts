/** One thing that was looked at. */
export interface Finding {
  readonly what: string
  /** `note`: it works, and may not be as it was meant. */
  readonly state: 'ok' | 'note' | 'bad'
  readonly found: string
  /** What to do; undefined: nothing. */
  readonly advice?: string
}
