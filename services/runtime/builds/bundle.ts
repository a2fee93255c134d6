import { readFile, realpath } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, BuildOptions, Metafile, Plugin } from 'esbuild'
import { useEsbuild } from '../../../lib/build/esbuild.ts'
import { badRequest } from '../../../sdk/errors.ts'
import type { Builder, Project } from './languages/language.ts'
import { MX_PACKAGE } from './languages/link-mx.ts'
import { readPackage } from './languages/package-file.ts'

/**
 * Variables for the location of a file. After bundling, `import.meta` would refer to the bundle.
 */
const LOCATION_VARIABLES: Readonly<Record<string, string>> = {
  'import.meta.url': '__mx_url',
  'import.meta.dirname': '__mx_dirname',
  'import.meta.filename': '__mx_filename',
  'import.meta.main': '__mx_main',
  __dirname: '__mx_dirname',
  __filename: '__mx_filename',
}
const USES_LOCATION = /\bimport\.meta\.(url|dirname|filename|main)\b|\b__(dirname|filename)\b/
/** Defines `require` for files that use it, because ES modules do not have it. */
const REQUIRE =
  "import { createRequire as __mxCreateRequire } from 'node:module'; const require = __mxCreateRequire(import.meta.url);"
const ID = 'runtime'
/** Marks a path that esbuild itself resolves. */
const RESOLVED = Symbol('resolved')

/**
 * Bundles a TypeScript program and the source files that it imports into one file for Node.js.
 * Packages are resolved at run time.
 *
 * @param file relative to the project.
 * @throws {ServiceError} 400 with all errors, by file and line.
 */
export async function bundle(
  { root, folder }: Project,
  file: string,
  outFile: string,
  { writeOutput }: Builder,
): Promise<void> {
  const options = await toOptions(root, join(folder, file))
  await buildWith({ ...options, outfile: outFile, sourcemap: 'linked' }, writeOutput)
}

/**
 * Returns the names of the packages that a program imports, without `mx-gateway` and Node.js
 * built-ins.
 */
export async function listPackages(
  { root, folder }: Project,
  file: string,
  { writeOutput }: Builder,
): Promise<string[]> {
  const options = await toOptions(root, join(folder, file))
  const { outputs } = await buildWith({ ...options, write: false }, writeOutput)
  const names = Object.values(outputs).flatMap(({ imports }) =>
    imports.flatMap(({ path, external }) => (external === true ? [toPackage(path)] : [])),
  )
  return [...new Set(names)].filter((name) => name !== MX_PACKAGE && !isBuiltin(name))
}

function buildWith(options: BuildOptions, writeOutput: Builder['writeOutput']): Promise<Metafile> {
  return useEsbuild(async ({ build, formatMessages }) => {
    try {
      return (await build({ ...options, metafile: true })).metafile
    } catch (error) {
      const { errors } = error as Partial<BuildFailure>
      if (errors === undefined) throw error
      const [first] = errors
      const location = first?.location
      const at = location ? `${location.file}:${location.line}:${location.column + 1}: ` : ''
      const all = (await formatMessages(errors, { kind: 'error', color: false })).join('').trim()
      writeOutput(`${all}\n`)
      throw badRequest(ID, `build failed: ${at}${first?.text}\n${all}`, { cause: error })
    }
  })
}

async function toOptions(rootPath: string, filePath: string): Promise<BuildOptions> {
  // Resolved the same way as in esbuild, even if a link leads to the server's data folder.
  const root = await realpath(rootPath)
  const file = await realpath(filePath)
  return {
    entryPoints: [file],
    absWorkingDir: dirname(file),
    outfile: join(dirname(file), 'main.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    logLevel: 'silent',
    // Programs that check whether they were imported compare this value with their own path.
    banner: { js: `${REQUIRE} process.argv[1] = ${JSON.stringify(file)};` },
    define: { ...LOCATION_VARIABLES },
    plugins: [externalPackages(root), defineLocations(file)],
  }
}

/**
 * Keeps package imports external. Bundles files within the source that a name resolves to through
 * `paths`, `imports` or a workspace.
 */
function externalPackages(root: string): Plugin {
  const isInSource = (path: string): boolean => {
    const names = relative(root, path).split(sep)
    return names[0] !== '..' && !names.includes('node_modules')
  }
  return {
    name: 'external-packages',
    setup(hooks) {
      hooks.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
        if (pluginData === RESOLVED || from.kind === 'entry-point') return undefined
        if (toPackage(path) === MX_PACKAGE || isBuiltin(path)) return { path, external: true }
        const { kind, importer, resolveDir } = from
        const resolveOptions = { kind, importer, resolveDir, pluginData: RESOLVED }
        const resolved = await hooks.resolve(path, resolveOptions)
        if (resolved.errors.length > 0 || resolved.external) return { path, external: true }
        if (isInSource(resolved.path)) return { path: resolved.path }
        return { path: await toModulePath(path, resolved.path), external: true }
      })
    },
  }
}

/**
 * Defines the location variables per file, so that `import.meta` behaves as it does without
 * bundling.
 */
function defineLocations(program: string): Plugin {
  return {
    name: 'define-locations',
    setup(hooks) {
      hooks.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        if (!USES_LOCATION.test(text)) return { contents: text, loader: 'default' }
        const values = [pathToFileURL(path).href, dirname(path), path].map((value) =>
          JSON.stringify(value),
        )
        const definitions = `const __mx_url = ${values[0]}, __mx_dirname = ${values[1]}, __mx_filename = ${values[2]}, __mx_main = ${path === program};`
        // Inserted on the first line, so that line numbers do not change.
        const start = /^#!.*\n/.exec(text)?.[0].length ?? 0
        const contents = text.slice(0, start) + definitions + text.slice(start)
        return { contents, loader: 'default' }
      })
    },
  }
}

/**
 * Returns the import path of a package's file with its extension, as ES modules require:
 * `lodash/fp.js` for `lodash/fp`. Packages with `exports` resolve the path unchanged.
 */
async function toModulePath(path: string, file: string): Promise<string> {
  const name = toPackage(path)
  const folder = `${sep}node_modules${sep}${name}${sep}`
  const end = file.lastIndexOf(folder) + folder.length
  if (path === name || !file.includes(folder)) return path
  const { exports } = (await readPackage(file.slice(0, end))) ?? {}
  return exports === undefined ? `${name}/${file.slice(end)}` : path
}

function toPackage(path: string): string {
  return path.split('/', path.startsWith('@') ? 2 : 1).join('/')
}
