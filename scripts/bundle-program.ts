/**
 * Bundles the program into a few files. Reading 120 modules took longer than running a command, and reading 700 modules
 * took half of the server's startup time. See `docs/decisions/2026-11-22-the-command-line-is-bundled.md` and
 * `docs/decisions/2026-11-26-the-platform-is-bundled.md`.
 */
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { ROOT } from './root.ts'

/** Module with a separate bundle. */
const SCHEMA = 'core/schema.ts'
/** Package bundled with the platform (46 modules); other packages are external. */
const JOSE = 'jose'
/** Entry point of the build process, which the platform starts by path. */
const BUILD_MAIN = 'services/runtime/builds/build-main.ts'
/** Included in both bundles, because it has no imports and is all that `mx --help` needs from the platform. */
const VERSION = 'platform/process/version.ts'

/**
 * Writes the CLI to `cli/bundle`, and the platform with the SDK to `bundle`. Each bundle is split at its lazy imports.
 * Lazy imports of the platform by the CLI refer to the second bundle.
 *
 * @param dist build folder, which contains the bundle of `core/schema.ts`
 */
export async function bundleProgram(dist: string): Promise<void> {
  const platform = join(dist, 'bundle')
  const started = new Set<string>()
  await bundle(join(dist, 'cli/bundle'), { mx: 'cli/main.ts' }, (source, isLazy) => {
    if (source === SCHEMA) return '../../core/schema.js'
    if (!isLazy || !source.startsWith('platform/') || source === VERSION) return undefined
    started.add(source)
    return `../../bundle/${toEntryName(source)}.js`
  })
  // npm sets the mode when it links the program, but not after a rebuild.
  await chmod(join(dist, 'cli/bundle/mx.js'), 0o755)
  const opened = ['sdk/index.ts', 'sdk/testing.ts', 'platform/registry.ts', BUILD_MAIN]
  const entries = [
    ...opened.map((source) => [basename(source, '.ts'), source]),
    ...[...started].map((source) => [toEntryName(source), source]),
  ]
  await bundle(platform, Object.fromEntries(entries), (source) =>
    source === SCHEMA ? '../core/schema.js' : undefined,
  )
  const license = new URL('../../LICENSE.md', import.meta.resolve(JOSE))
  await copyFile(license, join(platform, `LICENSE-${JOSE}.md`))
}

/**
 * Entry name of a source, such as `gateway-run` for `platform/gateway/run.ts`, because file names alone are not unique.
 */
function toEntryName(source: string): string {
  return source.replace(/^platform\/|\.ts$/g, '').replaceAll('/', '-')
}

/**
 * Writes a bundle, replacing the folder.
 *
 * @param entries sources by output name
 * @param findExternal path of an external source; undefined bundles the source
 */
async function bundle(
  outdir: string,
  entries: Readonly<Record<string, string>>,
  findExternal: (source: string, isLazy: boolean) => string | undefined,
): Promise<void> {
  const externals: Plugin = {
    name: 'externals',
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, kind }) => {
        const source = relative(ROOT, resolve(resolveDir, path))
        const external = findExternal(source, kind === 'dynamic-import')
        return external === undefined ? undefined : { path: external, external: true }
      })
      onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
        kind === 'entry-point' || path === JOSE ? undefined : { path, external: true },
      )
    },
  }
  const { outputFiles } = await build({
    entryPoints: entries,
    absWorkingDir: ROOT,
    outdir,
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    plugins: [externals],
    logLevel: 'warning',
  })
  await rm(outdir, { recursive: true, force: true })
  await mkdir(outdir, { recursive: true })
  for (const { path, text } of outputFiles) await writeFile(path, keepClassNames(text))
}

/** esbuild renames classes that refer to themselves to `_Name`, which would appear in printed objects. */
function keepClassNames(text: string): string {
  const renamed = [...text.matchAll(/^var (\w+) = class (_\1)\b/gm)]
  return renamed.reduce(
    (code, [, name, inner]) => code.replace(new RegExp(`\\b${inner}\\b`, 'g'), name!),
    text,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleProgram(join(ROOT, 'dist'))
