import { homedir } from 'node:os'
import { join } from 'node:path'
import { findAbove, isFile, listFiles } from '../files.ts'
import { type Language, OUT_FOLDER, type Project } from './language.ts'

const USER_SETTINGS = join(homedir(), '.config', 'go', 'env')

/** Go programs, if the Go toolchain is installed. */
export const go: Language = {
  name: 'go',

  async detect(project) {
    if (project.file !== undefined) return project.file.endsWith('.go')
    return (await listSources(project)).length > 0
  },

  prepare: async () => undefined,

  async make(project, builder) {
    const program = join(project.folder, OUT_FOLDER, 'program')
    const isModule = (await findAbove(project, 'go.mod')) !== undefined
    const files = project.file === undefined ? await listSources(project) : [project.file]
    const targets = isModule && project.file === undefined ? ['.'] : files
    const cache = join(builder.cacheFolder, 'go')
    await builder.run(['go', 'build', '-modcacherw', '-o', program, ...targets], project.folder, {
      GOPATH: cache,
      GOCACHE: join(cache, 'build'),
      ...((await isFile(USER_SETTINGS)) && { GOENV: USER_SETTINGS }),
    })
    return [program]
  },
}

async function listSources({ folder }: Project): Promise<string[]> {
  const names = await listFiles(folder)
  return names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'))
}
