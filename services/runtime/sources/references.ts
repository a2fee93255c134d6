import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { redactUrl } from '../../../lib/text/redact.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { toSafePath } from './safe-path.ts'

/** Where a repository may be, and the folder in it that is meant. */
export interface RepositoryPlace {
  readonly url: string
  /** Relative; empty for the repository itself. */
  readonly entrypoint: string
}

/** The reference of those who name none: the default branch. */
export const LATEST = 'latest'
const ID = 'runtime'
/** What git takes as a part of a command, and no option of it. */
const REF = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/
const REF_REFUSED = /\.\.|\/\/|\/\.|\.lock(\/|$)|[./]$/
const COMMIT = /^[0-9a-f]{7,40}$/
const ADDRESS = /^[\w.~:/@%+-]{1,500}$/
/** With a dot or a port, so that no short name is taken for one; it starts with no dash, which would be an option of ssh. */
const HOST = /^(?!-)(.*[.:].*|localhost)$/
/** How git writes addresses of SSH: `git@host:owner/name`. */
const SCP = /^(\w[\w.-]*@\w[\w.-]*):(.+)$/
/** Hosts whose repositories are all `<owner>/<name>`. */
const TWO_NAMES = new Set(['github.com', 'bitbucket.org', 'codeberg.org'])

/** @throws {ServiceError} 400 unless it can be a branch, a tag or a commit. */
export function checkRef(ref: string): void {
  if (!REF.test(ref) || REF_REFUSED.test(ref))
    throw badRequest(
      ID,
      `no branch and no commit: ${JSON.stringify(ref.slice(0, 100))}; it must be letters, digits and . _ / - , at most 100, and start with a letter or digit`,
    )
}

/** Whether a reference names a commit and no branch, by its looks: 7 to 40 hexadecimal digits. */
export function isCommit(ref: string): boolean {
  return COMMIT.test(ref)
}

/** @throws {ServiceError} 400 unless {@link toRepositoryPlaces} finds something in it. */
export function checkAddress(address: string, allowLocal: boolean): void {
  toRepositoryPlaces(address, allowLocal)
}

/**
 * What the address of a repository may mean, the likeliest first: `https://host/owner/name`, without `https://` as well, and
 * going on into the repository, as in `host/owner/name/folder` or `host/name.git/folder`.
 *
 * @param allowLocal whether repositories of this machine, those without encryption and those that the server's own user has keys
 *   for may be fetched.
 * @throws {ServiceError} 400 what is wrong with it.
 */
export function toRepositoryPlaces(address: string, allowLocal: boolean): RepositoryPlace[] {
  const refuse = (why: string) =>
    badRequest(
      ID,
      `no address of a repository: ${JSON.stringify(redactUrl(address.slice(0, 200)))}; ${why}`,
    )
  if (!ADDRESS.test(address)) throw refuse('it has characters that addresses do not have')
  if (address.startsWith('/') || address.startsWith('file://')) {
    if (!allowLocal)
      throw refuse('repositories of the machine of the server are for the profile local')
    return [findLocal(address)]
  }
  const full = toFullAddress(address)
  const url = URL.canParse(full) ? new URL(full) : undefined
  if (url === undefined || !HOST.test(url.host)) throw refuse('it names no host')
  const isSsh = url.protocol === 'ssh:'
  if (!allowLocal && url.protocol !== 'https:')
    throw refuse('it must be https://; other ways are for the profile local')
  if (!['https:', 'http:', 'ssh:'].includes(url.protocol)) throw refuse('it must be https://')
  if ((url.username !== '' && !isSsh) || url.password !== '')
    throw refuse('credentials are told on their own, as git.credentials of the configuration')
  const origin = `${url.protocol}//${isSsh && url.username !== '' ? `${url.username}@` : ''}${url.host}`
  const names = toSafePath(`./${decodePath(url.pathname)}`, 'the repository').split('/')
  if (names[0] === '.') throw refuse('it names no repository')
  return listLengths(url.hostname, names).map((length) => ({
    url: `${origin}/${names.slice(0, length).map(encodeURIComponent).join('/')}`,
    entrypoint: names.slice(length).join('/'),
  }))
}

/** How many of the names may be the repository, the likeliest first. */
function listLengths(host: string, names: readonly string[]): number[] {
  const end = names.findIndex((name) => name.endsWith('.git'))
  if (end !== -1) return [end + 1]
  if (TWO_NAMES.has(host)) return [Math.min(2, names.length)]
  return names.map((_, i) => names.length - i)
}

/** The repository a folder of this machine is, or lies in. */
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
    throw badRequest(ID, `no path of this machine: ${address}`, { cause: error })
  }
}

function isRepository(folder: string): boolean {
  const isBare = existsSync(join(folder, 'HEAD')) && existsSync(join(folder, 'objects'))
  return isBare || existsSync(join(folder, '.git'))
}

/** With its scheme: `git@host:owner/name` is SSH, what names none is HTTPS. */
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
