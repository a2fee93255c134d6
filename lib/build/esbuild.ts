import type * as Esbuild from 'esbuild'

/** Uses under way: esbuild's process is stopped after the last. */
let uses = 0

/** Does something with esbuild, which is loaded and whose process is started for it; no process is left once nobody uses it. */
export async function useEsbuild<T>(use: (esbuild: typeof Esbuild) => Promise<T>): Promise<T> {
  const esbuild = await import('esbuild')
  uses++
  try {
    return await use(esbuild)
  } finally {
    if (--uses === 0) await esbuild.stop()
  }
}
