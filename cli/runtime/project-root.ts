import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, sep } from 'node:path'
import { CliError, EXIT } from '../ui/output.ts'

/** A project to upload, and the part of it to run. */
export interface Project {
  /** Absolute path. */
  readonly root: string
  /** The folder or file to run, relative to the root, with slashes; empty for the root. */
  readonly entrypoint: string
}

const PACKAGE = 'package.json'
const REPOSITORY = '.git'
/** Folders that are not projects unless they contain one of the {@link MARKS}. */
const SYSTEM_FOLDER =
  /^(?:\/private)?\/(?:$|(?:opt|root|srv|tmp|usr|var)$|(?:home|Users)(?:\/[^/]+)?$|(?:bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|usr\/(?!src)[^/]+)(?:\/|$))/
/** Files and folders that identify the root of a project. */
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
 * Finds the project of a path: the nearest folder with a {@link MARKS mark}, else the folder of the path. For an npm
 * workspace, it is the root of its workspaces.
 *
 * @param path absolute path of a folder or a file
 * @throws {CliError} for a home folder, which contains keys and tokens, its parents, and system folders
 */
export function findProject(path: string, home: string = homedir()): Project {
  const isFolder = statSync(path).isDirectory()
  // Either path may be a symbolic link.
  const start = realpathSync(isFolder ? path : dirname(path))
  const realHome = existsSync(home) ? realpathSync(home) : home
  const marked = findRoot(start, realHome)
  const root = marked ?? start
  if (isWithin(realHome, root)) throw cannotUpload(root, 'it contains your home folder')
  if (marked === undefined && SYSTEM_FOLDER.test(root))
    throw cannotUpload(root, 'it is a home folder or a system folder')
  const entrypoint = relative(root, isFolder ? start : join(start, basename(path)))
  return { root, entrypoint: entrypoint.replaceAll(sep, '/') }
}

function isWithin(path: string, folder: string): boolean {
  return `${path}${sep}`.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

function cannotUpload(root: string, reason: string): CliError {
  return new CliError(
    `cannot upload ${root}: ${reason}. Move the program to a separate folder and run that`,
    { status: EXIT.usage },
  )
}

function findRoot(start: string, home: string): string | undefined {
  let root: string | undefined
  for (const folder of climb(start, home)) {
    const has = (name: string) => existsSync(join(folder, name))
    if (root === undefined && MARKS.some(has)) root = folder
    else if (root !== undefined && hasWorkspaces(join(folder, PACKAGE))) return folder
    // Workspace packages belong to the same repository.
    if (has(REPOSITORY) || (root !== undefined && !existsSync(join(root, PACKAGE)))) break
  }
  return root
}

/** A folder and its parents that may be projects. */
function* climb(start: string, home: string): Generator<string, void, undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    if (folder !== start && isWithin(home, folder)) return
    yield folder
    if (folder === dirname(folder)) return
  }
}

function hasWorkspaces(file: string): boolean {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).workspaces !== undefined
  } catch {
    // The file is missing or invalid. In the latter case, the build reports it.
    return false
  }
}
