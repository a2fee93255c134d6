import { existsSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'

/** What is uploaded, and what of it runs. */
export interface Project {
  /** Absolute. */
  readonly root: string
  /** The folder or file to run, relative to the root, with slashes; empty: the root. */
  readonly entrypoint: string
}

const PACKAGE = 'package.json'
const REPOSITORY = '.git'
/** Files and folders that lie in the root of a project. */
const MARKS = [
  'mx.yaml',
  PACKAGE,
  'go.mod',
  'requirements.txt',
  'pyproject.toml',
  'Procfile',
  REPOSITORY,
]

/**
 * Finds the project that something lies in: the nearest folder with a {@link MARKS mark}, from its own upwards, else its
 * own; of a package that is a workspace, the folder that all of them are installed in. The home folder and those above it
 * are nobody's project: what is uploaded from there would be everything.
 *
 * @param path absolute, of a folder or a file.
 */
export function findProject(path: string, home: string = homedir()): Project {
  const own = statSync(path).isDirectory() ? path : dirname(path)
  const root = findRoot(own, home) ?? own
  return { root, entrypoint: relative(root, path).replaceAll(sep, '/') }
}

function findRoot(own: string, home: string): string | undefined {
  let root: string | undefined
  for (const folder of climb(own, home)) {
    const has = (name: string) => existsSync(join(folder, name))
    if (root === undefined && MARKS.some(has)) root = folder
    else if (root !== undefined && hasWorkspaces(join(folder, PACKAGE))) return folder
    // Only packages are workspaces, and only of their repository.
    if (has(REPOSITORY) || (root !== undefined && !existsSync(join(root, PACKAGE)))) break
  }
  return root
}

/** A folder and those above it that may be a project. */
function* climb(own: string, home: string): Generator<string, void, undefined> {
  for (let folder = own; ; folder = dirname(folder)) {
    if (folder !== own && `${home}${sep}`.startsWith(`${folder}${sep}`)) return
    yield folder
    if (folder === dirname(folder)) return
  }
}

function hasWorkspaces(file: string): boolean {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).workspaces !== undefined
  } catch {
    // Not there, or nothing npm can read; the build says so.
    return false
  }
}
