import type * as Esbuild from 'esbuild'

/** Number of uses in flight. The esbuild process is stopped after the last use. */
let uses = 0

/** Runs `use` with esbuild, which is loaded on demand. Its process is stopped after the last use. */
export async function useEsbuild<T>(use: (esbuild: typeof Esbuild) => Promise<T>): Promise<T> {
  const esbuild = await import('esbuild')
  uses++
  try {
    return await use(esbuild)
  } finally {
    if (--uses === 0) await esbuild.stop()
  }
}
