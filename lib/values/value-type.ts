/** Reads, checks and documents the values of a setting. */
export interface ValueType<T> {
  /** `list`: repeatable. `switch`: the flag needs no value. */
  readonly kind: 'text' | 'list' | 'switch'
  /** Placeholder of a value in the help, such as `host:port`. */
  readonly placeholder: string
  /** Allowed values and their unit, for documentation and errors; for lists, of an element. */
  readonly allowed: string
  /** Separator of the elements of a list in one string. @default ',' */
  readonly separator?: string
  /** Whether one flag may hold several elements; an environment variable always may. */
  readonly splitFlag?: boolean
  /**
   * Parses the value. A `text` or `switch` has exactly one element.
   *
   * @throws {RangeError} with the allowed values and the input; callers prefix the name of the setting.
   */
  readonly parse: (values: readonly string[]) => T
}
