import { cluster } from './profiles/cluster.ts'
import { kubernetes } from './profiles/kubernetes.ts'
import { local } from './profiles/local.ts'
import { test } from './profiles/test.ts'
import type { Settings } from './settings/settings.ts'

/** What `mx server` is made of where nothing else is said: values of settings, as they would be written. */
export interface Profile {
  /** For help and documentation. */
  readonly description: string
  readonly settings: Readonly<Partial<Record<keyof Settings, string>>>
}

export type ProfileName = 'local' | 'test' | 'cluster' | 'kubernetes'

/** The built-in profiles (specification: Pluggability). */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  local,
  test,
  cluster,
  kubernetes,
}
