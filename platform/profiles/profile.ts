import type { Settings } from '../settings/settings.ts'

/** A set of defaults of `mx server`. */
export interface Profile {
  /** Text for help and documentation. */
  readonly description: string
  /** Values as a user writes them. */
  readonly settings: Readonly<Partial<Record<keyof Settings, string>>>
}
