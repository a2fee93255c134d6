/**
 * Bundles the program into a few files of the build, beside what `tsc` wrote: reading 120 modules took longer than what commands do,
 * and reading 700 half of the start of a server. Why: `docs/decisions/2026-11-22-the-command-line-is-bundled.md` and
 * `docs/decisions/2026-11-26-the-platform-is-bundled.md`.
 */
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { ROOT } from './root.ts'

/** Has a bundle of its own. */
const SCHEMA = 'core/schema.ts'
/** Taken into the platform: 46 modules. Other packages stay packages. */
const JOSE = 'jose'
/** A process of its own, started beside the module that it is bundled with. */
const BUILD_MAIN = 'services/runtime/builds/build-main.ts'
/** In both: it stands on nothing, and is all that `mx --help` loads of the platform. */
const VERSION = 'platform/process/version.ts'

/**
 * Writes the command line, `cli/bundle`, and the platform with the SDK, `bundle`, each split at its lazy imports. What the command
 * line loads of the platform lazily is in the other one.
 *
 * @param dist folder of the build, with the bundle of `core/schema.ts`.
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
  // npm does so when it links the program, not when that is built again.
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

/** `platform/gateway/run.ts` is `gateway-run`: two folders may have a file of one name. */
function toEntryName(source: string): string {
  return source.replace(/^platform\/|\.ts$/g, '').replaceAll('/', '-')
}

/**
 * Writes a bundle; what was there is gone.
 *
 * @param entries sources by the names of their files.
 * @param findApart where a source is that is not taken in; undefined: it is.
 */
async function bundle(
  outdir: string,
  entries: Readonly<Record<string, string>>,
  findApart: (source: string, isLazy: boolean) => string | undefined,
): Promise<void> {
  const keepApart: Plugin = {
    name: 'keep-apart',
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir, kind }) => {
        const source = relative(ROOT, resolve(resolveDir, path))
        const apart = findApart(source, kind === 'dynamic-import')
        return apart === undefined ? undefined : { path: apart, external: true }
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
    plugins: [keepApart],
    logLevel: 'warning',
  })
  await rm(outdir, { recursive: true, force: true })
  await mkdir(outdir, { recursive: true })
  for (const { path, text } of outputFiles) await writeFile(path, keepClassNames(text))
}

/** Classes that name themselves are called `_Name` by esbuild, also where programs print their objects. */
function keepClassNames(text: string): string {
  const renamed = [...text.matchAll(/^var (\w+) = class (_\1)\b/gm)]
  return renamed.reduce(
    (code, [, name, inner]) => code.replace(new RegExp(`\\b${inner}\\b`, 'g'), name!),
    text,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleProgram(join(ROOT, 'dist'))
