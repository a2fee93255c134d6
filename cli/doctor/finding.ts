/** Result of one check of `mx doctor`. */
export interface Finding {
  readonly what: string
  readonly state: 'ok' | 'note' | 'bad'
  readonly found: string
  /** Instructions for fixing the problem. */
  readonly advice?: string
}
