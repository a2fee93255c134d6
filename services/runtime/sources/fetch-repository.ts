import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import { formatSize } from '../../../lib/text/units.ts'
import { notFound, ServiceError } from '../../../sdk/errors.ts'
import { withDeadline } from '../jobs/deadline.ts'
import type { Work } from '../jobs/run-command.ts'
import { withWorkHome } from '../jobs/work-home.ts'
import { checkTree } from './check-tree.ts'
import { createGit, type Git, requirePinning } from './git.ts'
import { limitFolder } from './limit-folder.ts'
import { pinHost, type RepositoryPolicy } from './pin-host.ts'
import {
  checkRef,
  isCommit,
  LATEST,
  type RepositoryPlace,
  toRepositoryPlaces,
} from './references.ts'
import { findRef, listBranches, parseRemoteRefs, type RemoteRefs } from './remote-refs.ts'

export interface RepositorySource {
  /**
   * Address as `https://host/owner/name` or `host/owner/name`, optionally followed by a folder in
   * the repository.
   */
  readonly address: string
  /** Branch, tag or commit. @default 'latest', the default branch */
  readonly ref?: string
  /** Credentials for private repositories: a token, or `user:token`. */
  readonly credentials?: string
  /** Whether to allow local repositories (`file://` or a path), `http://` and SSH. */
  readonly allowLocal: boolean
  /** Outgoing address policy for other repositories. */
  readonly egress: RepositoryPolicy
  /** Cache of this server, shared by all builds. */
  readonly cacheFolder: string
  /** Maximum size of the received data and of the files. @default 3 GiB */
  readonly maxBytes?: number
}

export interface FetchedRepository {
  /** Full commit hash. */
  readonly commit: string
  /** Folder part of `address`; empty if not specified. */
  readonly entrypoint: string
}

const ID = 'runtime'
const TIMEOUT_MS = 5 * 60_000
const FULL_COMMIT = /^[0-9a-f]{40}$/
const MAX_NAMES = 10
/** Limit for the files of a commit, and for the data of a host that sends entire branches. */
const MAX_BYTES = 3 * 1024 ** 3

/**
 * Fetches the files of one commit into a new folder, without history and links. No code of the
 * repository is executed. Deletes the folder on failure.
 *
 * @throws {ServiceError} 400 for a malformed address or reference, 404 for an unknown repository,
 * branch or commit, 413 if the limit of files or bytes is exceeded, 502 if the repository is
 * unreachable, 408 on timeout, or the reason of the signal.
 */
export function fetchRepository(
  source: RepositorySource,
  folder: string,
  work: Work,
): Promise<FetchedRepository> {
  const { address, ref = LATEST, allowLocal, egress, credentials, cacheFolder } = source
  const { maxBytes = MAX_BYTES } = source
  return withDeadline(`fetching ${address}`, TIMEOUT_MS, work, async (ended) => {
    checkRef(ref)
    const exceeded = new AbortController()
    const signal = AbortSignal.any([ended, exceeded.signal])
    const candidates = toRepositoryPlaces(address, allowLocal)
    await mkdir(dirname(folder), { recursive: true })
    await mkdir(folder)
    // The number of bytes that a host sends is only known once they have arrived.
    const endLimit = limitFolder(folder, maxBytes, () =>
      exceeded.abort(
        new ServiceError(ID, 413, `the repository sends more than ${formatSize(maxBytes)}`),
      ),
    )
    try {
      return await withWorkHome(cacheFolder, (home) =>
        fetchFirst(candidates, ref, async (url) => {
          const pin = allowLocal ? undefined : await pinHost(url, egress)
          const { onOutput } = work
          const options = { folder, home, url, credentials, allowLocal, pin, onOutput, signal }
          const git = createGit(options)
          if (pin !== undefined) await requirePinning(git)
          return git
        }),
      )
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    } finally {
      endLimit()
      await rm(join(folder, '.git'), { recursive: true, force: true })
    }
  })
}

/** Fetches from the first candidate that is a repository. */
async function fetchFirst(
  candidates: readonly RepositoryPlace[],
  ref: string,
  open: (url: string) => Promise<Git>,
): Promise<FetchedRepository> {
  let failure: unknown
  for (const { url, entrypoint } of candidates) {
    const git = await open(url)
    let refs: RemoteRefs
    try {
      refs = parseRemoteRefs(await git.read('ls-remote', '--symref', '--', url))
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 404) throw error
      failure ??= error
      continue
    }
    return { commit: await checkOut(git, url, ref, refs), entrypoint }
  }
  throw failure
}

async function checkOut(git: Git, url: string, ref: string, refs: RemoteRefs): Promise<string> {
  await git.run('init', '--quiet')
  const name = findRef(refs, ref)
  const isFetched =
    name === undefined
      ? await fetchCommit(git, url, ref)
      : await git.run('fetch', '--depth=1', '--no-tags', '--quiet', '--', url, name)
  if (isFetched === false) throw toUnknown(url, ref, refs)
  // If the server does not serve commits by hash, all branches were fetched.
  const revision = name === undefined ? ref : 'FETCH_HEAD'
  if (!(await git.try('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)))
    throw toUnknown(url, ref, refs)
  await checkTree(git, revision)
  if (!(await git.try('checkout', '--quiet', '--detach', revision))) throw toUnknown(url, ref, refs)
  return (await git.read('rev-parse', 'HEAD')).trim()
}

/** Returns false if the commit does not exist. */
async function fetchCommit(git: Git, url: string, ref: string): Promise<boolean> {
  if (!isCommit(ref)) return false
  if (FULL_COMMIT.test(ref) && (await git.try('fetch', '--depth=1', '--no-tags', '--', url, ref)))
    return true
  await git.run('fetch', '--quiet', '--', url, '+refs/heads/*:refs/remotes/origin/*')
  return git.try('rev-parse', '--verify', '--quiet', `${ref}^{commit}`)
}

function toUnknown(url: string, ref: string, refs: RemoteRefs): ServiceError {
  const branches = listBranches(refs)
  if (branches.length === 0) return notFound(ID, `the repository ${url} has no branches yet`)
  const suggestion = suggest(ref, branches)
  const branchNames = branches.slice(0, MAX_NAMES).join(', ')
  const more = branches.length > MAX_NAMES ? `, and ${branches.length - MAX_NAMES} more` : ''
  const hint =
    suggestion === undefined
      ? `it has the branches ${branchNames}${more}`
      : `did you mean ${suggestion}?`
  return notFound(ID, `no branch, tag or commit ${ref} in ${url}; ${hint}`)
}
