import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Inclusive range of user ids that belong to the runtime. */
export interface UserIdRange {
  readonly first: number
  readonly last: number
}

/**
 * Assigns each namespace a unique user id, which is also its group id. Assignments are stored and never reused, since
 * files of a namespace outlive its programs.
 *
 * @param file stores the assignments as `{"<namespace>": <uid>}`.
 * @returns a function that returns the user id of a namespace. It throws if the range is exhausted.
 */
export function openUserIds(file: string, { first, last }: UserIdRange): (name: string) => number {
  const ids = new Map(Object.entries(read(file)))
  return (namespace) => {
    const known = ids.get(namespace)
    if (known !== undefined && known >= first && known <= last) return known
    const used = new Set(ids.values())
    let id = first
    while (used.has(id)) id++
    if (id > last)
      throw new Error(
        `No user id left for namespace ${namespace}; extend the \`runtime_uids\` range (${first}-${last})`,
      )
    ids.set(namespace, id)
    write(file, Object.fromEntries(ids))
    return id
  }
}

function read(file: string): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    // New assignments could expose files of one namespace to another.
    throw new Error(`Cannot read the user ids of namespaces: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function write(file: string, ids: Readonly<Record<string, number>>): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(`${file}.new`, JSON.stringify(ids), { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}
