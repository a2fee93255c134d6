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
/** Files that are the program where nothing says which is. */
const MAIN_FILES = ['', 'src/'].flatMap((folder) =>
  ['main', 'index', 'server', 'app'].flatMap((name) =>
    ['ts', 'mts', 'js', 'mjs', 'cjs'].map((extension) => `${folder}${name}.${extension}`),
  ),
)

/** Programs in JavaScript and TypeScript; the latter need no step of the author's. */
export const node: Language = {
  name: 'node',

  async isHere({ folder, file }) {
    if (file !== undefined) return isScript(file)
    return (await findFile(folder, ['package.json', ...MAIN_FILES])) !== undefined
  },

  async prepare(project, builder, settings) {
    const { folder, content } = await findPackage(project)
    const own = await readPackage(project.folder)
    const start = await findStart(project)
    await installPackages({ project, folder, content, own, settings, start }, builder)
    await linkMx(folder)
    const hasStep = own?.scripts?.['build'] !== undefined && settings.build === undefined
    if (hasStep) await builder.run(['npm', 'run', 'build'], project.folder)
    const programs = join(folder, 'node_modules', '.bin')
    return (await isReachable(programs)) ? programs : undefined
  },

  async make(project, builder) {
    const script = (await readPackage(project.folder))?.scripts?.['start']
    if (project.file === undefined && script !== undefined) {
      const words = toCommand(script)
      // As node itself would take it from version 22.18 on.
      const isFileAlone = words.length === 2 && words[0] === 'node' && isTypeScript(words[1]!)
      return isFileAlone ? makeFile(project, words[1]!, builder) : words
    }
    const file = await findStart(project)
    return file === undefined ? undefined : makeFile(project, file, builder)
  },
}

/** The file that the program starts with; undefined where a script of the package starts it, or nothing. */
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
  // A package of no name: what it imports by the name of the package it lies in is then one that is installed.
  await writeFile(join(out, 'package.json'), '{}\n')
  await bundle(project, file, join(out, 'main.mjs'), builder)
  return [program, '--enable-source-maps', join(OUT_FOLDER, 'main.mjs')]
}

/** By name where that leads to this very node: its folder changes with every version, with some installers. */
async function findNode(): Promise<string> {
  for (const folder of toPath([]).split(':').slice(1)) {
    const found = await realpath(join(folder, 'node')).catch(() => undefined)
    if (found !== undefined) return found === process.execPath ? 'node' : process.execPath
  }
  return process.execPath
}

function isTypeScript(file: string): boolean {
  return TYPESCRIPT.has(extname(file))
}

function isScript(file: string): boolean {
  return isTypeScript(basename(file)) || JAVASCRIPT.has(extname(file))
}
