import { readdirSync, readFileSync } from 'node:fs'

/** The flag of files that programs a process begins do not get, in `/proc/<pid>/fdinfo` (proc(5)). */
const CLOSE_ON_EXEC = 0o2000000
const STANDARD = 3

/**
 * Numbers of the open files of this process that programs it begins would get: what it was itself begun with, beside the
 * standard streams. Node hides those of low numbers only. None where there is no `/proc`.
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
    // Closed since: that of the reading itself.
    return false
  }
}
