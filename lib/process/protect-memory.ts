const PR_SET_DUMPABLE = 4

/**
 * Makes the environment and memory of this process unreadable for other processes of its user (prctl(2),
 * PR_SET_DUMPABLE) as long as it runs. The process also writes no core files.
 *
 * @returns whether it is protected; false without Linux or the optional library koffi. It is never protected from root.
 */
export async function protectMemory(): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() === 0) return false
  try {
    const { default: ffi } = await import('koffi')
    const prctl = ffi
      .load(null)
      .func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)')
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0
  } catch {
    return false
  }
}
