import { readFile } from 'node:fs/promises'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure } from 'esbuild'
import { useEsbuild } from '../../lib/build/esbuild.ts'

/** What evaluating a plugin file gave. */
export interface EvaluatedPlugin {
  readonly exports: unknown
  /** The file and all it imports relatively, with the content that was used. */
  readonly sources: ReadonlyMap<string, Uint8Array>
}

/** The part of Node's CommonJS module that is not in its types; loaders of TypeScript have stood on it since Node 0.x. */
interface CompilingModule {
  exports: unknown
  _compile(code: string, filename: string, format: 'commonjs'): void
}

/**
 * How esbuild imports a package from a file of a `"type": "module"` package: it takes every package for CommonJS and
 * its `default` for all of it. Without the mark, `default` of an ES module is its default export.
 */
const NODE_INTEROP = /__toESM\((require\("[^"\n]+"\)), 1\)/g

/** Files evaluated so far. */
let evaluated = 0

/**
 * Evaluates a plugin file, JavaScript or TypeScript, of one file or several, without a build step.
 *
 * The files are joined by esbuild into one CommonJS module and evaluated without entering any module cache: Node never
 * lets go of an ES module once imported, so `import()` of every edit would leak. `mx-gateway` is this very program's, so that its
 * classes are the same on both sides and a plugin needs no installed copy to run.
 *
 * @throws {Error} with file, line and column when it does not parse, or what its top level threw.
 */
export async function evaluatePlugin(file: string): Promise<EvaluatedPlugin> {
  const { code, sources } = await bundle(file)
  // Not before: a gateway without plugins of users needs none of what services are made of.
  const sdk = await import('../../sdk/index.ts')
  // Stack traces then show the lines of the source, as the author wrote them.
  process.setSourceMapsEnabled(true)
  // Source maps are found by this name: under the same one, a later version would map the lines of those before it.
  const name = `${file}?${++evaluated}`
  const module = new Module(name) as unknown as CompilingModule & { pluginRequire: unknown }
  const requireNative = createRequire(file)
  module.pluginRequire = (id: string): unknown => (id === 'mx-gateway' ? sdk : requireNative(id))
  try {
    module._compile(code, name, 'commonjs')
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const origin = formatOrigin(sources.keys(), error)
    throw new Error(`plugin ${file}: failed while loading: ${message}${origin}`, { cause: error })
  }
  return { exports: module.exports, sources }
}

/** Where in the sources of a plugin something was thrown, as ` (file:line:column)`; empty when not there. */
export function formatOrigin(sources: Iterable<string>, error: unknown): string {
  const frames = error instanceof Error ? (error.stack ?? '').split('\n    at ').slice(1) : []
  const files = [...sources]
  for (const frame of frames) {
    const source = files.find((path) => frame.includes(`${path}:`))
    if (source === undefined) continue
    const position = /^:\d+:\d+/.exec(frame.slice(frame.indexOf(source) + source.length))?.[0]
    if (position !== undefined) return ` (${source}${position})`
  }
  return ''
}

async function bundle(file: string): Promise<{ code: string; sources: Map<string, Uint8Array> }> {
  const sources = new Map<string, Uint8Array>()
  try {
    const { outputFiles } = await useEsbuild(({ build }) =>
      build({
        entryPoints: [file],
        absWorkingDir: dirname(file),
        outfile: `${file}.cjs`,
        write: false,
        bundle: true,
        packages: 'external',
        platform: 'node',
        format: 'cjs',
        target: 'node20',
        // import() of a package then goes through the same require.
        supported: { 'dynamic-import': false },
        sourcemap: 'inline',
        sourcesContent: false,
        logLevel: 'silent',
        // Node keeps the source map for as long as the module, and this keeps the module for as long as its functions.
        banner: { js: 'var require = (id) => module.pluginRequire(id);' },
        define: {
          __filename: JSON.stringify(file),
          'import.meta.url': JSON.stringify(pathToFileURL(file).href),
          'import.meta.filename': JSON.stringify(file),
          'import.meta.dirname': JSON.stringify(dirname(file)),
        },
        plugins: [
          {
            name: 'sources',
            setup(hooks) {
              // Read here, so that what is hashed is what was compiled even while an editor is saving.
              hooks.onLoad({ filter: /.*/ }, async ({ path }) => {
                const contents = await readFile(path)
                sources.set(path, contents)
                return { contents, loader: 'default' }
              })
            },
          },
        ],
      }),
    )
    return { code: outputFiles[0]!.text.replace(NODE_INTEROP, '__toESM($1)'), sources }
  } catch (error) {
    throw new Error(formatFailure(file, error), { cause: error })
  }
}

/** The first error as editors and terminals link it: file:line:column. */
function formatFailure(file: string, error: unknown): string {
  const first = (error as Partial<BuildFailure>).errors?.[0]
  if (first === undefined)
    return `plugin ${file}: ${error instanceof Error ? error.message : String(error)}`
  const { location, text } = first
  return location === null
    ? `plugin ${file}: ${text}`
    : `plugin ${file}: ${location.file}:${location.line}:${location.column + 1}: ${text}`
}
