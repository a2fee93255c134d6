import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { CliError, EXIT } from '../ui/output.ts'

/** What is uploaded, and what of it runs. */
export interface Project {
  /** Absolute. */
  readonly root: string
  /** The folder or file to run, relative to the root, with slashes; empty: the root. */
  readonly entrypoint: string
}

const PACKAGE = 'package.json'
const REPOSITORY = '.git'
/** Without a mark of a project in it. */
const SYSTEM_FOLDER =
  /^(?:\/private)?\/(?:$|(?:opt|root|srv|tmp|usr|var)$|(?:home|Users)(?:\/[^/]+)?$|(?:bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|usr\/(?!src)[^/]+)(?:\/|$))/
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
 * own; of a package that is a workspace, the folder that all of them are installed in.
 *
 * @param path absolute, of a folder or a file.
 * @throws {CliError} when the project would be a home folder, with its keys and tokens, a folder above it, or a folder of the system.
 */
export function findProject(path: string, home: string = homedir()): Project {
  const isFolder = statSync(path).isDirectory()
  // A link may lead to the home folder, and the home folder may be named by a link.
  const own = realpathSync(isFolder ? path : dirname(path))
  const realHome = existsSync(home) ? realpathSync(home) : home
  const marked = findRoot(own, realHome)
  const root = marked ?? own
  if (isWithin(realHome, root)) throw cannotUpload(root, 'it holds your home folder')
  if (marked === undefined && SYSTEM_FOLDER.test(root))
    throw cannotUpload(root, 'it is a home folder or a folder of the system')
  const entrypoint = relative(root, isFolder ? own : join(own, basename(path)))
  return { root, entrypoint: entrypoint.replaceAll(sep, '/') }
}

function isWithin(path: string, folder: string): boolean {
  return `${path}${sep}`.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

function cannotUpload(root: string, why: string): CliError {
  return new CliError(
    `cannot upload ${root}: ${why}. Put the program in a folder of its own and run that`,
    { status: EXIT.usage },
  )
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
    if (folder !== own && isWithin(home, folder)) return
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
