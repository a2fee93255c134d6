/** Result of one check of `mx doctor`. */
export interface Finding {
  readonly what: string
  readonly state: 'ok' | 'note' | 'bad'
  readonly found: string
  /** How to fix it. */
  readonly advice?: string
}
