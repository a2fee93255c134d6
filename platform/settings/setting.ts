import type { ValueType } from '../../lib/values/value-type.ts'

/** The program that a setting belongs to. */
export type ServerCommand = 'api' | 'server'

/**
 * A setting, which is a flag, an environment variable, a `mx.yaml` key, and an entry in help and
 * documentation.
 */
export interface Setting<T> extends ValueType<T> {
  /**
   * Name of the flag and `mx.yaml` key: words joined with `_`. The variable is `MX_` followed by
   * the name in capitals.
   */
  readonly name: string
  /** Noun phrase for help and documentation. */
  readonly description: string
  /**
   * Default as a user writes it, with the elements of a list joined by their separator. Empty if
   * none.
   */
  readonly default: string
  /** Meaning of an empty default, shown in the help. */
  readonly unset?: string
  /** Additional environment variable, which is read after the others. */
  readonly variable?: string
  /** Command that the setting is limited to; undefined for both commands. */
  readonly only?: ServerCommand
  /** Differences for `mx server`. */
  readonly inServer?: Partial<Pick<Setting<T>, 'description' | 'default' | 'unset'>>
  /**
   * Reason why the setting is not a key in `mx.yaml`, and where to set it instead. Undefined if it
   * is a key.
   */
  readonly notInFile?: string
  /** Whether a change in `mx.yaml` takes effect without a restart. */
  readonly live: boolean
}

/** Table with one setting for each property of an area's parsed settings. */
export type SettingTable<S> = { readonly [K in keyof S]: Setting<S[K]> }
