import type { Environment } from '../session/environments.ts'
import { readConfig } from './config.ts'

/** Base URL for short repository names: from the environment, else the general one; empty if unset (reference 7.3). */
export function readBaseUrl({ name }: Environment): string {
  const config = readConfig()
  return config.get(`git.${name}.baseurl`) || config.get('git.baseurl')
}
