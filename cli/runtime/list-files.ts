import { type Dirent, existsSync } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import ignore, { type Ignore } from 'ignore'

/** A file of a project, or an empty folder. */
export interface ProjectFile {
  /** Relative to the root, with slashes; the path of a folder ends with one. */
  readonly path: string
  readonly bytes: number
}

export interface ProjectFiles {
  /** Sorted by path. */
  readonly files: readonly ProjectFile[]
  /** Links to files outside the project, which are excluded. */
  readonly links: readonly string[]
  /** Pipes, sockets and devices, which are excluded. */
  readonly specials: readonly string[]
}

/** Rules of a single `.gitignore` file. */
interface Rules {
  /** Absolute path. */
  readonly folder: string
  readonly matcher: Ignore
}

const RULES_FILE = '.gitignore'
/** Folders that the build installs or does not need. */
const EXCLUDED = ['.git', 'node_modules']

/**
 * Lists the files of a project that are not excluded by `.gitignore` files in the root, in its subfolders, or in the
 * parent folders within the same repository. `.git` and `node_modules` are always excluded.
 *
 * @param root absolute path
 */
export async function listFiles(root: string): Promise<ProjectFiles> {
  const files: ProjectFile[] = []
  const links: string[] = []
  const specials: string[] = []
  const realRoot = await realpath(root)

  async function walk(folder: string, outer: readonly Rules[]): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true })
    const hasRules = entries.some((entry) => entry.name === RULES_FILE && entry.isFile())
    const rules = hasRules ? [...outer, await readRules(folder)] : outer
    for (const entry of entries.sort(byName)) {
      const path = join(folder, entry.name)
      if (EXCLUDED.includes(entry.name) || isIgnored(path, entry.isDirectory(), rules)) continue
      if (entry.isDirectory()) await walk(path, rules)
      else if (entry.isFile()) await add(path)
      else if (entry.isSymbolicLink()) {
        if (await pointsInside(path, realRoot)) await add(path)
        else links.push(toPath(root, path))
      } else specials.push(toPath(root, path))
    }
    // Programs may expect an empty folder to exist.
    if (entries.length === 0 && folder !== root)
      files.push({ path: `${toPath(root, folder)}/`, bytes: 0 })
  }

  async function add(path: string): Promise<void> {
    files.push({ path: toPath(root, path), bytes: (await stat(path)).size })
  }

  await walk(root, await readOuterRules(root))
  return { files, links, specials }
}

/** Rules of the parent folders within the repository; empty if they exclude the root. */
async function readOuterRules(root: string): Promise<readonly Rules[]> {
  const rules: Rules[] = []
  for (let folder = root; !existsSync(join(folder, '.git')); ) {
    const parent = dirname(folder)
    if (parent === folder) return []
    folder = parent
    if (existsSync(join(folder, RULES_FILE))) rules.unshift(await readRules(folder))
  }
  return isIgnored(root, true, rules) ? [] : rules
}

async function readRules(folder: string): Promise<Rules> {
  const text = await readFile(join(folder, RULES_FILE), 'utf8')
  return { folder, matcher: ignore().add(text) }
}

/** True if the innermost matching rule excludes the path. */
function isIgnored(path: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (const { folder, matcher } of rules.toReversed()) {
    const { ignored, unignored } = matcher.test(toPath(folder, path) + (isFolder ? '/' : ''))
    if (ignored || unignored) return ignored
  }
  return false
}

/** True if a link points to a file of the project. */
async function pointsInside(path: string, realRoot: string): Promise<boolean> {
  try {
    const target = await realpath(path)
    return target.startsWith(`${realRoot}${sep}`) && (await stat(target)).isFile()
  } catch {
    return false
  }
}

function toPath(from: string, path: string): string {
  return relative(from, path).replaceAll(sep, '/')
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1
}
