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

/** Where a file is, as it says itself: joined with others it would say where they all are. */
const OWN_PLACE: Readonly<Record<string, string>> = {
  'import.meta.url': '__mx_url',
  'import.meta.dirname': '__mx_dirname',
  'import.meta.filename': '__mx_filename',
  'import.meta.main': '__mx_main',
  __dirname: '__mx_dirname',
  __filename: '__mx_filename',
}
const ASKS_PLACE = /\bimport\.meta\.(url|dirname|filename|main)\b|\b__(dirname|filename)\b/
/** For files that use `require`, which modules do not have. */
const REQUIRE =
  "import { createRequire as __mxCreateRequire } from 'node:module'; const require = __mxCreateRequire(import.meta.url);"
const ID = 'runtime'
/** Says that a name is looked up by esbuild itself. */
const LOOKED_UP = Symbol('looked up')

/**
 * Joins a TypeScript program and the files of the source it imports into one that node runs as it is. Packages are left to
 * be found where it runs.
 *
 * @param file relative to the project.
 * @throws {ServiceError} 400 with every error, by file and line.
 */
export async function bundle(
  { root, folder }: Project,
  file: string,
  outFile: string,
  { say }: Builder,
): Promise<void> {
  const options = await toOptions(root, join(folder, file))
  await buildWith({ ...options, outfile: outFile, sourcemap: 'linked' }, say)
}

/** Names of the packages that a program imports, `mx-gateway` and what node has left out. */
export async function listPackages(
  { root, folder }: Project,
  file: string,
  { say }: Builder,
): Promise<string[]> {
  const options = await toOptions(root, join(folder, file))
  const { outputs } = await buildWith({ ...options, write: false }, say)
  const names = Object.values(outputs).flatMap(({ imports }) =>
    imports.flatMap(({ path, external }) => (external === true ? [toPackage(path)] : [])),
  )
  return [...new Set(names)].filter((name) => name !== MX_PACKAGE && !isBuiltin(name))
}

function buildWith(options: BuildOptions, say: Builder['say']): Promise<Metafile> {
  return useEsbuild(async ({ build, formatMessages }) => {
    try {
      return (await build({ ...options, metafile: true })).metafile
    } catch (error) {
      const { errors } = error as Partial<BuildFailure>
      if (errors === undefined) throw error
      const [first] = errors
      const place = first?.location
      const at = place ? `${place.file}:${place.line}:${place.column + 1}: ` : ''
      const all = (await formatMessages(errors, { kind: 'error', color: false })).join('').trim()
      say(`${all}\n`)
      throw badRequest(ID, `build failed: ${at}${first?.text}\n${all}`, { cause: error })
    }
  })
}

async function toOptions(givenRoot: string, givenFile: string): Promise<BuildOptions> {
  // As esbuild tells them, also where a link leads to the folder of the server's data.
  const root = await realpath(givenRoot)
  const file = await realpath(givenFile)
  return {
    entryPoints: [file],
    absWorkingDir: dirname(file),
    outfile: join(dirname(file), 'main.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    logLevel: 'silent',
    // Programs that ask whether they were imported compare this with their own place.
    banner: { js: `${REQUIRE} process.argv[1] = ${JSON.stringify(file)};` },
    define: { ...OWN_PLACE },
    plugins: [leavePackages(root), keepPlaces(file)],
  }
}

/** Imports of packages stay; what a name leads to within the source, by `paths`, `imports` or a workspace, is joined. */
function leavePackages(root: string): Plugin {
  const isOwn = (path: string): boolean => {
    const names = relative(root, path).split(sep)
    return names[0] !== '..' && !names.includes('node_modules')
  }
  return {
    name: 'leave-packages',
    setup(hooks) {
      hooks.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
        if (pluginData === LOOKED_UP || from.kind === 'entry-point') return undefined
        if (toPackage(path) === MX_PACKAGE || isBuiltin(path)) return { path, external: true }
        const { kind, importer, resolveDir } = from
        const how = { kind, importer, resolveDir, pluginData: LOOKED_UP }
        const found = await hooks.resolve(path, how)
        if (found.errors.length > 0 || found.external) return { path, external: true }
        if (isOwn(found.path)) return { path: found.path }
        return { path: await toModulePath(path, found.path), external: true }
      })
    },
  }
}

/** Has files that ask where they are, and whether they are the program, told as if they had not been joined. */
function keepPlaces(program: string): Plugin {
  return {
    name: 'keep-places',
    setup(hooks) {
      hooks.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        if (!ASKS_PLACE.test(text)) return { contents: text, loader: 'default' }
        const values = [pathToFileURL(path).href, dirname(path), path].map((value) =>
          JSON.stringify(value),
        )
        const places = `const __mx_url = ${values[0]}, __mx_dirname = ${values[1]}, __mx_filename = ${values[2]}, __mx_main = ${path === program};`
        // On the same line, so that all others keep their numbers.
        const start = /^#!.*\n/.exec(text)?.[0].length ?? 0
        const contents = text.slice(0, start) + places + text.slice(start)
        return { contents, loader: 'default' }
      })
    },
  }
}

/**
 * The name of a file of a package as node's modules want it, with its ending: `lodash/fp.js` of `lodash/fp`. Packages that list
 * what can be imported of them know the name as it is.
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
