import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { toPath } from '../../jobs/work-environment.ts'
import { bundle } from '../bundle.ts'
import { findFile, isFile, isReachable } from '../files.ts'
import { type Builder, type Language, OUT_FOLDER, type Project } from './language.ts'
import { linkMx } from './link-mx.ts'
import { installPackages } from './npm.ts'
import { findPackage, readPackage } from './package-file.ts'
import { toCommand } from './shell.ts'

const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx'])
const JAVASCRIPT = new Set(['.js', '.mjs', '.cjs'])
/** Entry files that are tried if none is declared. */
const MAIN_FILES = ['', 'src/'].flatMap((folder) =>
  ['main', 'index', 'server', 'app'].flatMap((name) =>
    ['ts', 'mts', 'js', 'mjs', 'cjs'].map((extension) => `${folder}${name}.${extension}`),
  ),
)

/** Programs in JavaScript and TypeScript. TypeScript requires no build step. */
export const node: Language = {
  name: 'node',

  async detect({ folder, file }) {
    if (file !== undefined) return isScript(file)
    return (await findFile(folder, ['package.json', ...MAIN_FILES])) !== undefined
  },

  async prepare(project, builder, settings) {
    const { folder, content } = await findPackage(project)
    const manifest = await readPackage(project.folder)
    const start = await findStart(project)
    await installPackages(
      { project, folder, content, manifest: manifest, settings, start },
      builder,
    )
    await linkMx(folder)
    const hasStep = manifest?.scripts?.['build'] !== undefined && settings.build === undefined
    if (hasStep) await builder.run(['npm', 'run', 'build'], project.folder)
    const programs = join(folder, 'node_modules', '.bin')
    return (await isReachable(programs)) ? programs : undefined
  },

  async make(project, builder) {
    const script = (await readPackage(project.folder))?.scripts?.['start']
    if (project.file === undefined && script !== undefined) {
      const words = toCommand(script)
      // Node.js 22.18 and later would run the file directly.
      const isFileAlone = words.length === 2 && words[0] === 'node' && isTypeScript(words[1]!)
      return isFileAlone ? makeFile(project, words[1]!, builder) : words
    }
    const file = await findStart(project)
    return file === undefined ? undefined : makeFile(project, file, builder)
  },
}

/**
 * Returns the entry file of the program, or undefined if a package script starts it or there is
 * none.
 */
async function findStart({ folder, file }: Project): Promise<string | undefined> {
  if (file !== undefined) return file
  const main = (await readPackage(folder))?.main
  if (main !== undefined && isScript(main) && (await isFile(join(folder, main)))) return main
  return findFile(folder, MAIN_FILES)
}

async function makeFile(
  project: Project,
  file: string,
  builder: Builder,
): Promise<readonly string[]> {
  const program = await findNode()
  if (!isTypeScript(file)) return [program, file]
  const out = join(project.folder, OUT_FOLDER)
  await mkdir(out, { recursive: true })
  // An unnamed package, so that an import by the name of the enclosing package resolves to an installed package.
  await writeFile(join(out, 'package.json'), '{}\n')
  await bundle(project, file, join(out, 'main.mjs'), builder)
  return [program, '--enable-source-maps', join(OUT_FOLDER, 'main.mjs')]
}

/**
 * Returns `node` if that resolves to this executable, because some installers change its folder
 * with every version.
 */
async function findNode(): Promise<string> {
  for (const folder of toPath([]).split(':').slice(1)) {
    const resolved = await realpath(join(folder, 'node')).catch(() => undefined)
    if (resolved !== undefined) return resolved === process.execPath ? 'node' : process.execPath
  }
  return process.execPath
}

function isTypeScript(file: string): boolean {
  return TYPESCRIPT.has(extname(file))
}

function isScript(file: string): boolean {
  return isTypeScript(basename(file)) || JAVASCRIPT.has(extname(file))
}
