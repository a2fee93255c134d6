import { statSync } from 'node:fs'

/**
 * Returns the ids of users that own these folders, except the user of this process. They are users of isolated
 * programs.
 */
export function listUsers(folders: readonly string[]): readonly number[] {
  const ids = folders.flatMap((path) => statSync(path, { throwIfNoEntry: false })?.uid ?? [])
  return [...new Set(ids)].filter((id) => id !== process.geteuid?.())
}
