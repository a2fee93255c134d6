import { type Dirent, existsSync } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import ignore, { type Ignore } from 'ignore'

/** A file of a project, or an empty folder. */
export interface ProjectFile {
  /** Relative to the root, with slashes; that of a folder ends with one. */
  readonly path: string
  readonly bytes: number
}

export interface ProjectFiles {
  /** In order of their paths. */
  readonly files: readonly ProjectFile[]
  /** Links that lead to no file of the project: they are left out. */
  readonly links: readonly string[]
  /** Pipes, sockets and devices: they are left out. */
  readonly specials: readonly string[]
}

/** The rules of one `.gitignore`. */
interface Rules {
  /** Absolute, of its folder. */
  readonly folder: string
  readonly matcher: Ignore
}

const RULES_FILE = '.gitignore'
/** Fetched again where the project is built, or of no use there. */
const NEVER = ['.git', 'node_modules']

/**
 * The files of a project but for what `.gitignore` leaves out: the files of that name in the root, in folders inside, and in
 * those above that belong to the same repository. `.git` and `node_modules` never are among them.
 *
 * @param root absolute.
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
      if (NEVER.includes(entry.name) || isIgnored(path, entry.isDirectory(), rules)) continue
      if (entry.isDirectory()) await walk(path, rules)
      else if (entry.isFile()) await add(path)
      else if (entry.isSymbolicLink()) {
        if (await leadsInside(path, realRoot)) await add(path)
        else links.push(toPath(root, path))
      } else specials.push(toPath(root, path))
    }
    // Programs may expect it to be there.
    if (entries.length === 0 && folder !== root)
      files.push({ path: `${toPath(root, folder)}/`, bytes: 0 })
  }

  async function add(path: string): Promise<void> {
    files.push({ path: toPath(root, path), bytes: (await stat(path)).size })
  }

  await walk(root, await readOuterRules(root))
  return { files, links, specials }
}

/** Those above the root, as far as its repository reaches; none where they leave out the root itself. */
async function readOuterRules(root: string): Promise<readonly Rules[]> {
  const rules: Rules[] = []
  for (let folder = root; !existsSync(join(folder, '.git')); ) {
    const above = dirname(folder)
    if (above === folder) return []
    folder = above
    if (existsSync(join(folder, RULES_FILE))) rules.unshift(await readRules(folder))
  }
  return isIgnored(root, true, rules) ? [] : rules
}

async function readRules(folder: string): Promise<Rules> {
  const text = await readFile(join(folder, RULES_FILE), 'utf8')
  return { folder, matcher: ignore().add(text) }
}

/** The innermost rule that says something about it decides. */
function isIgnored(path: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (const { folder, matcher } of rules.toReversed()) {
    const { ignored, unignored } = matcher.test(toPath(folder, path) + (isFolder ? '/' : ''))
    if (ignored || unignored) return ignored
  }
  return false
}

/** Whether a link leads to a file of the project, not of the rest of this machine. */
async function leadsInside(path: string, realRoot: string): Promise<boolean> {
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
