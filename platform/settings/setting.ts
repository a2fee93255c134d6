import type { ValueType } from '../../lib/values/value-type.ts'

/** The program that a setting belongs to. */
export type ServerCommand = 'api' | 'server'

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
  /** Why the setting is not a key of `mx.yaml`, and where to set it instead; undefined if it is a key. */
  readonly notInFile?: string
  /** Whether a change in `mx.yaml` takes effect without a restart. */
  readonly live: boolean
}

/** One setting for each property of the parsed settings of an area. */
export type SettingTable<S> = { readonly [K in keyof S]: Setting<S[K]> }
