import { statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

/** A folder that a program may use although its user cannot enter the folders above it. */
export interface Exposed {
  /** Absolute. */
  readonly path: string
  readonly isWritable: boolean
}

export interface SandboxViewOptions {
  readonly exposed: readonly Exposed[]
  /** Folder whose other content must be invisible, regardless of its mode. */
  readonly hidden: string
  /** Empty folder in which the view is assembled. */
  readonly stage: string
  /**
   * Source of its mounts as listed in `/proc/<pid>/mountinfo`, which identifies processes with this view. @default mx
   */
  readonly source?: string | undefined
}

const EXECUTE_BY_OTHERS = 0o001
/** Text that needs no quotes in a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/

/**
 * Returns a shell script, as lines, that changes the view of a private mount namespace. Each closed folder above an
 * exposed folder, and the hidden folder, is covered with an empty file system in which the exposed folders appear at
 * the same paths.
 */
export function toViewScript(options: SandboxViewOptions): readonly string[] {
  const { exposed, hidden, stage, source = 'mx' } = options
  const covers = new Map<string, Exposed[]>()
  for (const folder of exposed) {
    const cover = findCover(folder.path, hidden)
    if (cover === undefined) continue
    const covered = covers.get(cover)
    if (covered === undefined) covers.set(cover, [folder])
    else covered.push(folder)
  }
  // The stage is no longer accessible once it is covered itself.
  const ordered = [...covers].sort(
    ([a], [b]) => Number(isInside(stage, a)) - Number(isInside(stage, b)),
  )
  return ordered.flatMap(([cover, list]) => toCoverScript(cover, list, { stage, source }))
}

function toCoverScript(
  cover: string,
  exposed: readonly Exposed[],
  { stage, source }: { readonly stage: string; readonly source: string },
): string[] {
  const to = (path: string): string => quoteShell(join(stage, relative(cover, path)))
  return [
    `mount -t tmpfs -o mode=0755,size=256k,nosuid,nodev ${quoteShell(source)} ${quoteShell(stage)}`,
    // Independent of the server's umask.
    `(umask 022 && mkdir -p ${exposed.map(({ path }) => to(path)).join(' ')})`,
    ...exposed.map(
      ({ path, isWritable }) =>
        `mount -o bind${isWritable ? '' : ',ro'} ${quoteShell(path)} ${to(path)}`,
    ),
    `mount --move ${quoteShell(stage)} ${quoteShell(cover)}`,
  ]
}

/**
 * Returns the topmost hidden or closed folder, which must be covered to expose a path, or undefined if everyone can
 * reach the path.
 */
function findCover(path: string, hidden: string): string | undefined {
  const above = isInside(path, hidden) ? hidden : undefined
  const closed = findClosed(dirname(path))
  if (closed === undefined || above === undefined) return closed ?? above
  return isInside(above, closed) ? closed : above
}

/** Returns the topmost folder of a path, including the last one, that other users cannot enter. */
function findClosed(path: string): string | undefined {
  const names = path.split(sep).slice(1)
  for (let i = 1; i <= names.length; i++) {
    const folder = sep + names.slice(0, i).join(sep)
    const stats = statSync(folder, { throwIfNoEntry: false })
    if (stats !== undefined && (stats.mode & EXECUTE_BY_OTHERS) === 0) return folder
  }
  return undefined
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep)
}

/** Quotes a word for a shell script. */
export function quoteShell(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
