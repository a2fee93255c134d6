import { existsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'

/** What is uploaded, and what of it runs. */
export interface Project {
  /** Absolute. */
  readonly root: string
  /** The folder or file to run, relative to the root, with slashes; empty: the root. */
  readonly entrypoint: string
}

/** Files and folders that lie in the root of a project. */
const MARKS = [
  'mx.yaml',
  'package.json',
  'go.mod',
  'requirements.txt',
  'pyproject.toml',
  'Procfile',
  '.git',
]

/**
 * Finds the project that something lies in: the nearest folder with a {@link MARKS mark}, from its own upwards, else its
 * own. The home folder and those above it are nobody's project: what is uploaded from there would be everything.
 *
 * @param path absolute, of a folder or a file.
 */
export function findProject(path: string, home: string = homedir()): Project {
  const own = statSync(path).isDirectory() ? path : dirname(path)
  const root = findRoot(own, home) ?? own
  return { root, entrypoint: relative(root, path).replaceAll(sep, '/') }
}

function findRoot(own: string, home: string): string | undefined {
  for (let folder = own; ; folder = dirname(folder)) {
    if (folder !== own && `${home}${sep}`.startsWith(`${folder}${sep}`)) return undefined
    if (MARKS.some((mark) => existsSync(join(folder, mark)))) return folder
    if (folder === dirname(folder)) return undefined
  }
}
