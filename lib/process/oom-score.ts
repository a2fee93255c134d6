import { writeFileSync } from 'node:fs'

/** Corresponds to half of all memory: a small process is killed before a server that uses less than that (proc(5)). */
const SCORE = '500'

/** Makes the OOM killer prefer this process and its future children. */
export function preferOomKill(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, SCORE)
  } catch {
    // The process has ended, or the system does not support it.
  }
}
