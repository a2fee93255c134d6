import type { Environment } from '../session/environments.ts'
import { readConfig } from './config.ts'

/** The address that short names of repositories are below: of the environment, else of all; empty: none (reference 7.3). */
export function readBaseUrl({ name }: Environment): string {
  const config = readConfig()
  return config.get(`git.${name}.baseurl`) || config.get('git.baseurl')
}
