/** Parses, validates and documents the values of a setting. */
export interface ValueType<T> {
  /** `list`: repeatable. `switch`: the flag needs no value. */
  readonly kind: 'text' | 'list' | 'switch'
  /** Placeholder of a value in help texts, such as `host:port`. */
  readonly placeholder: string
  /** Allowed values and their unit, for documentation and errors; for lists, the allowed elements. */
  readonly allowed: string
  /** Separator of list elements in a single string. @default ',' */
  readonly separator?: string
  /** Whether one flag may contain several elements; an environment variable always may. */
  readonly splitFlag?: boolean
  /**
   * Parses the value. A `text` or `switch` has exactly one element.
   *
   * @throws {RangeError} with the allowed values and the input; callers prefix the name of the setting.
   */
  readonly parse: (values: readonly string[]) => T
}
