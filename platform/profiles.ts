import { cluster } from './profiles/cluster.ts'
import { kubernetes } from './profiles/kubernetes.ts'
import { local } from './profiles/local.ts'
import type { Profile } from './profiles/profile.ts'
import { test } from './profiles/test.ts'
import type { ProfileName } from './settings/table/process.ts'

/** The built-in profiles (specification: Pluggability). */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  local,
  test,
  cluster,
  kubernetes,
}
