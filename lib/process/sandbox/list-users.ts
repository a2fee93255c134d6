import { statSync } from 'node:fs'

/** Ids of the users, other than that of this process, that own these folders: of the isolated programs that they were given to. */
export function listUsers(folders: readonly string[]): readonly number[] {
  const ids = folders.flatMap((path) => statSync(path, { throwIfNoEntry: false })?.uid ?? [])
  return [...new Set(ids)].filter((id) => id !== process.geteuid?.())
}
