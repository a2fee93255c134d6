import { isServiceName } from '../../core/registry/service-name.ts'

const NAME_MAX = 63
const VERSION_MAX = 64
/** Matches branches, tags and commits that cannot leave a folder or look like an option. */
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/

/** Rule for names of runtime objects, used in error messages. */
export const NAME_RULE: string = `must be letters, digits and inner dots, dashes or underscores, at most ${NAME_MAX}`
/** Rule for versions, used in error messages. */
export const VERSION_RULE: string = `must be a branch, a tag or a commit: letters, digits, dots, dashes, underscores and single inner slashes, at most ${VERSION_MAX}`

/** Default version (specification: Run reference rules). */
export const LATEST = 'latest'

/**
 * Returns whether a runtime object can have this name, which is also used for services and folders.
 */
export function isObjectName(name: string): boolean {
  return name.length <= NAME_MAX && isServiceName(name)
}

/** Returns whether a version can be this reference. */
export function isVersion(version: string): boolean {
  return version.length <= VERSION_MAX && VERSION.test(version) && !version.includes('..')
}
