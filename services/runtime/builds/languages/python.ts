import { join } from 'node:path'
import { useCached } from '../cache.ts'
import { findAbove, findFile, readIfExists } from '../files.ts'
import { type Builder, type Language, OUT_FOLDER, type Project } from './language.ts'

const REQUIREMENTS = 'requirements.txt'
const PROJECT_FILE = 'pyproject.toml'
const MAIN_FILES = ['main.py', 'app.py', 'server.py', '__main__.py']
/**
 * Matches lines that refer to files in the source or to other lists, so that the file alone does
 * not determine the packages.
 */
const LOCAL = /^\s*(-|\.|\/|file:)|\bfile:/m
/** First version of pip that can install for another interpreter. */
const MIN_PIP_VERSION = 23
const PRINT_PIP = `
try:
  import pip
  print(pip.__version__)
except ImportError:
  print(0)
`

/** Python programs. Requirements are installed into a virtual environment. */
export const python: Language = {
  name: 'python',

  async detect({ folder, file }) {
    if (file !== undefined) return file.endsWith('.py')
    return (await findFile(folder, [REQUIREMENTS, PROJECT_FILE, ...MAIN_FILES])) !== undefined
  },

  async prepare(project, builder) {
    const above = await findAbove(project, REQUIREMENTS)
    if (above !== undefined) return installRequirements(project, above, builder)
    const isPackage = (await findFile(project.folder, [PROJECT_FILE])) !== undefined
    return isPackage ? makeVenv(project, project.folder, ['.'], builder) : undefined
  },

  async make({ folder, file }) {
    const main = file ?? (await findFile(folder, MAIN_FILES))
    // Unbuffered, because the output is used as the log.
    return main === undefined ? undefined : ['python3', '-u', main]
  },
}

async function installRequirements(
  project: Project,
  folder: string,
  builder: Builder,
): Promise<string> {
  const text = (await readIfExists(join(folder, REQUIREMENTS))) ?? ''
  const requirements = ['-r', join(folder, REQUIREMENTS)]
  if (LOCAL.test(text)) return makeVenv(project, folder, requirements, builder)
  const version = await builder.read(
    ['python3', '-c', 'import sys; print(sys.version, sys.executable)'],
    project.folder,
  )
  const venv = await useCached(
    {
      cacheFolder: builder.cacheFolder,
      kind: 'python',
      inputs: [text, version],
      user: project.root,
      signal: builder.signal,
    },
    (cached) => install(cached, folder, requirements, builder),
  )
  return join(venv, 'bin')
}

async function makeVenv(
  project: Project,
  folder: string,
  requirements: readonly string[],
  builder: Builder,
): Promise<string> {
  const venv = join(project.folder, OUT_FOLDER, 'venv')
  await install(venv, folder, requirements, builder)
  return join(venv, 'bin')
}

async function install(
  venv: string,
  folder: string,
  requirements: readonly string[],
  { run, read, cacheFolder }: Builder,
): Promise<void> {
  const pipVersion = await read(['python3', '-c', PRINT_PIP], folder)
  const words = ['install', '--disable-pip-version-check', '--no-input', ...requirements]
  const env = { PIP_CACHE_DIR: join(cacheFolder, 'pip') }
  // Installing pip takes longer than most of its packages.
  if (Number.parseInt(pipVersion, 10) >= MIN_PIP_VERSION) {
    await run(['python3', '-m', 'venv', '--without-pip', venv], folder)
    return run(['python3', '-m', 'pip', '--python', venv, ...words], folder, env)
  }
  await run(['python3', '-m', 'venv', venv], folder)
  return run([join(venv, 'bin', 'python3'), '-m', 'pip', ...words], folder, env)
}
