import { isServiceName } from '../../core/registry/service-name.ts'

const NAME_MAX = 63
const VERSION_MAX = 64
/** A branch, a tag or a commit, none of which leads out of a folder or looks like an option. */
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/

/** What names of runtime objects must be, as errors say it. */
export const NAME_RULE: string = `must be letters, digits and inner dots, dashes or underscores, at most ${NAME_MAX}`
/** What versions must be, as errors say it. */
export const VERSION_RULE: string = `must be a branch, a tag or a commit: letters, digits, dots, dashes, underscores and single slashes inside, at most ${VERSION_MAX}`

/** Version of whoever names none (specification: Run reference rules). */
export const LATEST = 'latest'

/** Whether a runtime object can have this name: services are named so, too, and folders. */
export function isObjectName(name: string): boolean {
  return name.length <= NAME_MAX && isServiceName(name)
}

/** Whether it can be run with this reference. */
export function isVersion(version: string): boolean {
  return version.length <= VERSION_MAX && VERSION.test(version) && !version.includes('..')
}
