import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import { notFound, ServiceError } from '../../../sdk/errors.ts'
import { withDeadline } from '../jobs/deadline.ts'
import type { Work } from '../jobs/run-command.ts'
import { withWorkHome } from '../jobs/work-home.ts'
import { checkTree } from './check-tree.ts'
import { createGit, type Git, requirePinning } from './git.ts'
import { pinHost, type RepositoryPolicy } from './pin-host.ts'
import {
  checkRef,
  isCommit,
  LATEST,
  type RepositoryPlace,
  toRepositoryPlaces,
} from './references.ts'
import { findRef, listBranches, parseRemoteRefs, type RemoteRefs } from './remote-refs.ts'

/** What is fetched. */
export interface RepositorySource {
  /** `https://host/owner/name`, `host/owner/name`; it may go on with a folder of the repository. */
  readonly address: string
  /** Branch, tag or commit. @default 'latest', the default branch */
  readonly ref?: string
  /** For private repositories: a token, or `user:token`. */
  readonly credentials?: string
  /** Whether repositories of this machine (`file://`, a path), `http://` and SSH may be fetched. */
  readonly allowLocal: boolean
  /** Decides where other repositories may be. */
  readonly egress: RepositoryPolicy
  /** Folder of this server, for all builds. */
  readonly cacheFolder: string
}

export interface FetchedRepository {
  /** Its full hash. */
  readonly commit: string
  /** The folder that `address` went on with; empty for none. */
  readonly entrypoint: string
}

const ID = 'runtime'
const TIMEOUT_MS = 5 * 60_000
const FULL_COMMIT = /^[0-9a-f]{40}$/
const NAMED_AT_MOST = 10

/**
 * Fetches the files of one commit into a folder that is not there yet: without the history, without links, and nothing of the
 * repository is run. A folder that could not be fetched whole is gone again.
 *
 * @throws {ServiceError} 400 for a malformed address or reference, 404 for a repository, branch or commit that is not there,
 *   413 when it holds too many files or bytes, 502 when the repository cannot be reached, 408 when it takes too long; or the reason of
 *   the signal.
 */
export function fetchRepository(
  source: RepositorySource,
  folder: string,
  work: Work,
): Promise<FetchedRepository> {
  const { address, ref = LATEST, allowLocal, egress, credentials, cacheFolder } = source
  return withDeadline(`fetching ${address}`, TIMEOUT_MS, work, async (signal) => {
    checkRef(ref)
    const places = toRepositoryPlaces(address, allowLocal)
    await mkdir(dirname(folder), { recursive: true })
    await mkdir(folder)
    try {
      return await withWorkHome(cacheFolder, (home) =>
        fetchFirst(places, ref, async (url) => {
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
      await rm(join(folder, '.git'), { recursive: true, force: true })
    }
  })
}

/** Fetches from the first place there is a repository at. */
async function fetchFirst(
  places: readonly RepositoryPlace[],
  ref: string,
  open: (url: string) => Promise<Git>,
): Promise<FetchedRepository> {
  let failure: unknown
  for (const { url, entrypoint } of places) {
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
  // Of a commit all branches were fetched when the repository gives none by its hash.
  const wanted = name === undefined ? ref : 'FETCH_HEAD'
  if (!(await git.try('rev-parse', '--verify', '--quiet', `${wanted}^{commit}`)))
    throw toUnknown(url, ref, refs)
  await checkTree(git, wanted)
  if (!(await git.try('checkout', '--quiet', '--detach', wanted))) throw toUnknown(url, ref, refs)
  return (await git.read('rev-parse', 'HEAD')).trim()
}

/** False when there is no such commit. */
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
  const meant = suggest(ref, branches)
  const named = branches.slice(0, NAMED_AT_MOST).join(', ')
  const more =
    branches.length > NAMED_AT_MOST ? `, and ${branches.length - NAMED_AT_MOST} more` : ''
  const hint =
    meant === undefined ? `it has the branches ${named}${more}` : `did you mean ${meant}?`
  return notFound(ID, `no branch, tag or commit ${ref} in ${url}; ${hint}`)
}
