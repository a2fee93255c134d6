/** The program that a setting belongs to. */
export type ServerCommand = 'api' | 'server'

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

/** A setting: flag, environment variable, `mx.yaml` key, help and documentation. */
export interface Setting<T> extends ValueType<T> {
  /** Flag and `mx.yaml` key: words joined by `_`. The variable is `MX_` and the same in capitals. */
  readonly name: string
  /** Noun phrase, for help and documentation. */
  readonly description: string
  /** As a user writes it; for lists, the elements joined by their separator. Empty if none. */
  readonly default: string
  /** Meaning of an empty default, for help. */
  readonly unset?: string
  /** Another environment variable, read after the others. */
  readonly variable?: string
  /** Command of the setting; undefined: both. */
  readonly only?: ServerCommand
  /** Differences in `mx server`. */
  readonly inServer?: Partial<Pick<Setting<T>, 'description' | 'default' | 'unset'>>
  /** Why it is not a key of `mx.yaml`, and where to set it instead; undefined: it is a key. */
  readonly notInFile?: string
  /** Whether a change in `mx.yaml` takes effect without a restart. */
  readonly live: boolean
}

/** One setting for each property of the parsed settings of an area. */
export type SettingTable<S> = { readonly [K in keyof S]: Setting<S[K]> }
