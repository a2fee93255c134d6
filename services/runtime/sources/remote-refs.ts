import { LATEST } from './references.ts'

/** Branches and tags of a repository, each with its commit. */
export interface RemoteRefs {
  /** The branch that the repository names as its own; undefined: none. */
  readonly head: string | undefined
  /** By full name, `refs/heads/main`. */
  readonly commits: ReadonlyMap<string, string>
}

/** Where `latest` leads when a repository names no branch as its own. */
const DEFAULT_BRANCHES = [LATEST, 'master', 'main', 'trunk']

/** Reads what `git ls-remote --symref` writes. */
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

/** The full name of what is meant by a reference: a branch first, then a tag; undefined when it is none of them. */
export function findRef({ head, commits }: RemoteRefs, ref: string): string | undefined {
  const branches = ref === LATEST ? DEFAULT_BRANCHES : [ref]
  const names = [...branches.map((name) => `refs/heads/${name}`), `refs/tags/${ref}`]
  if (ref === LATEST && head !== undefined) names.unshift(head)
  return names.find((name) => commits.has(name))
}

/** Names of branches, for people. */
export function listBranches({ commits }: RemoteRefs): string[] {
  const prefix = 'refs/heads/'
  return [...commits.keys()].flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  )
}
