const PR_SET_DUMPABLE = 4

/**
 * Makes the environment and the memory of this process unreadable for other processes of its user (prctl(2), PR_SET_DUMPABLE), for
 * as long as it runs; it writes no core file either.
 *
 * @returns whether it is protected; not without Linux or the optional library koffi, and not from root.
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
