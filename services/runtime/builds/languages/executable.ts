import { join } from 'node:path'
import { isProgram, listFiles } from '../files.ts'
import type { Language, Project } from './language.ts'

const NAMES = ['main', 'run', 'start', 'main.sh', 'run.sh', 'start.sh']

/** Executable files. */
export const executable: Language = {
  name: 'executable',
  detect: async (project) => (await findProgram(project)) !== undefined,
  prepare: async () => undefined,
  async make(project) {
    const name = await findProgram(project)
    return name === undefined ? undefined : [`./${name}`]
  },
}

/** Returns the named file, a file with one of the usual names, or the only executable file. */
async function findProgram({ folder, file }: Project): Promise<string | undefined> {
  const names = file === undefined ? await listFiles(folder) : [file]
  const programs: string[] = []
  for (const name of names) if (await isProgram(join(folder, name))) programs.push(name)
  const usual = NAMES.find((name) => programs.includes(name))
  return usual ?? (programs.length === 1 ? programs[0] : undefined)
}
