import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { redactUrl } from '../../../lib/text/redact.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { toSafePath } from './safe-path.ts'

/** Candidate location of a repository, and the folder within it. */
export interface RepositoryPlace {
  readonly url: string
  /** Relative folder; empty for the root. */
  readonly entrypoint: string
}

/** Default reference: the default branch. */
export const LATEST = 'latest'
const ID = 'runtime'
/** Matches references that git does not parse as options. */
const REF = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/
const REF_REFUSED = /\.\.|\/\/|\/\.|\.lock(\/|$)|[./]$/
const COMMIT = /^[0-9a-f]{7,40}$/
const ADDRESS = /^[\w.~:/@%+-]{1,500}$/
/**
 * Requires a dot or a port, so that a short name does not count as a host. A leading dash would be
 * an option of ssh.
 */
const HOST = /^(?!-)(.*[.:].*|localhost)$/
/** Matches git's scp-like syntax: `git@host:owner/name`. */
const SCP = /^(\w[\w.-]*@\w[\w.-]*):(.+)$/
/** Hosts on which all repositories have the form `<owner>/<name>`. */
const TWO_NAMES = new Set(['github.com', 'bitbucket.org', 'codeberg.org'])

/** @throws {ServiceError} 400 if the text cannot be a branch, tag or commit. */
export function checkRef(ref: string): void {
  if (!REF.test(ref) || REF_REFUSED.test(ref))
    throw badRequest(
      ID,
      `invalid branch, tag or commit: ${JSON.stringify(ref.slice(0, 100))}; it must be at most 100 letters, digits and . _ / - , and start with a letter or digit`,
    )
}

/** Returns whether a reference looks like a commit: 7 to 40 hexadecimal digits. */
export function isCommit(ref: string): boolean {
  return COMMIT.test(ref)
}

/** @throws {ServiceError} 400 if {@link toRepositoryPlaces} does not accept the address. */
export function checkAddress(address: string, allowLocal: boolean): void {
  toRepositoryPlaces(address, allowLocal)
}

/**
 * Returns the candidate locations of an address, most likely first: `https://host/owner/name`,
 * optionally without `https://`, and followed by a folder of the repository, as in
 * `host/owner/name/folder` or `host/name.git/folder`.
 *
 * @param allowLocal allows local, unencrypted and SSH repositories.
 * @throws {ServiceError} 400 with the reason.
 */
export function toRepositoryPlaces(address: string, allowLocal: boolean): RepositoryPlace[] {
  const invalid = (reason: string) =>
    badRequest(
      ID,
      `invalid repository address: ${JSON.stringify(redactUrl(address.slice(0, 200)))}; ${reason}`,
    )
  if (!ADDRESS.test(address)) throw invalid('it contains invalid characters')
  if (address.startsWith('/') || address.startsWith('file://')) {
    if (!allowLocal) throw invalid('local repositories are allowed only with the profile local')
    return [findLocal(address)]
  }
  const full = toFullAddress(address)
  const url = URL.canParse(full) ? new URL(full) : undefined
  if (url === undefined || !HOST.test(url.host)) throw invalid('it has no host')
  const isSsh = url.protocol === 'ssh:'
  if (!allowLocal && url.protocol !== 'https:')
    throw invalid('it must be https://; other schemes are allowed only with the profile local')
  if (!['https:', 'http:', 'ssh:'].includes(url.protocol)) throw invalid('it must be https://')
  if ((url.username !== '' && !isSsh) || url.password !== '')
    throw invalid('set credentials in git.credentials of the configuration instead')
  const origin = `${url.protocol}//${isSsh && url.username !== '' ? `${url.username}@` : ''}${url.host}`
  const names = toSafePath(`./${decodePath(url.pathname)}`, 'the repository').split('/')
  if (names[0] === '.') throw invalid('it has no repository path')
  return listLengths(url.hostname, names).map((length) => ({
    url: `${origin}/${names.slice(0, length).map(encodeURIComponent).join('/')}`,
    entrypoint: names.slice(length).join('/'),
  }))
}

/** Returns the possible numbers of path segments that name the repository, most likely first. */
function listLengths(host: string, names: readonly string[]): number[] {
  const end = names.findIndex((name) => name.endsWith('.git'))
  if (end !== -1) return [end + 1]
  if (TWO_NAMES.has(host)) return [Math.min(2, names.length)]
  return names.map((_, i) => names.length - i)
}

/** Finds the repository that a local folder is or belongs to. */
function findLocal(address: string): RepositoryPlace {
  const path = toLocalPath(address)
  let folder = path
  while (!isRepository(folder)) {
    const above = dirname(folder)
    if (above === folder) throw badRequest(ID, `there is no git repository in ${path}`)
    folder = above
  }
  return { url: pathToFileURL(folder).href, entrypoint: relative(folder, path) }
}

function toLocalPath(address: string): string {
  if (!address.startsWith('file://')) return resolve(address)
  try {
    return fileURLToPath(address)
  } catch (error) {
    throw badRequest(ID, `invalid local path: ${address}`, { cause: error })
  }
}

function isRepository(folder: string): boolean {
  const isBare = existsSync(join(folder, 'HEAD')) && existsSync(join(folder, 'objects'))
  return isBare || existsSync(join(folder, '.git'))
}

/** Adds the scheme: SSH for `git@host:owner/name`, otherwise HTTPS. */
function toFullAddress(address: string): string {
  if (address.includes('://')) return address
  const [, at, path] = SCP.exec(address) ?? []
  return path === undefined ? `https://${address}` : `ssh://${at}/${path}`
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path).replace(/^\/+/, '')
  } catch {
    return ''
  }
}
