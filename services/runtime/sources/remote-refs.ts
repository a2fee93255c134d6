import { LATEST } from './references.ts'

/** Branches and tags of a repository with their commits. */
export interface RemoteRefs {
  /** Default branch; undefined if none. */
  readonly head: string | undefined
  /** Commits by full name such as `refs/heads/main`. */
  readonly commits: ReadonlyMap<string, string>
}

/** Candidates for `latest` if a repository has no default branch. */
const DEFAULT_BRANCHES = [LATEST, 'master', 'main', 'trunk']

/** Parses the output of `git ls-remote --symref`. */
export function parseRemoteRefs(text: string): RemoteRefs {
  const commits = new Map<string, string>()
  let head: string | undefined
  for (const line of text.split('\n')) {
    const [value = '', name = ''] = line.split('\t')
    if (value.startsWith('ref: ') && name === 'HEAD') head = value.slice(5)
    else if (name.startsWith('refs/')) commits.set(name, value)
  }
  return { head, commits }
}

/**
 * Returns the full name of a reference; a branch takes precedence over a tag. Returns undefined if
 * it does not exist.
 */
export function findRef({ head, commits }: RemoteRefs, ref: string): string | undefined {
  const branches = ref === LATEST ? DEFAULT_BRANCHES : [ref]
  const names = [...branches.map((name) => `refs/heads/${name}`), `refs/tags/${ref}`]
  if (ref === LATEST && head !== undefined) names.unshift(head)
  return names.find((name) => commits.has(name))
}

/** Returns the names of branches, for messages. */
export function listBranches({ commits }: RemoteRefs): string[] {
  const prefix = 'refs/heads/'
  return [...commits.keys()].flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  )
}
