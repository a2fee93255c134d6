import { writeFileSync } from 'node:fs'

/** Half of all memory: what takes next to nothing is killed before a server that takes less than that (proc(5)). */
const SCORE = '500'

/** Has the system, when it runs out of memory, kill this process and all that it begins from now on before its others. */
export function preferOomKill(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, SCORE)
  } catch {
    // It has ended, or the system has no such thing.
  }
}
