import { readdirSync, readFileSync } from 'node:fs'

/** Close-on-exec flag in `/proc/<pid>/fdinfo` (proc(5)). */
const CLOSE_ON_EXEC = 0o2000000
const STANDARD = 3

/**
 * Lists the file descriptors that child processes would inherit, except the standard streams. This
 * process inherited them itself, and Node.js closes only low numbers. Returns an empty list without
 * `/proc`.
 */
export function listInheritedFiles(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((file) => file >= STANDARD && isInherited(file))
  } catch {
    return []
  }
}

function isInherited(file: number): boolean {
  try {
    const [, flags] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, 'latin1'))!
    return (Number.parseInt(flags!, 8) & CLOSE_ON_EXEC) === 0
  } catch {
    // Closed in the meantime, as is the descriptor of the listing itself.
    return false
  }
}
