import { join } from 'node:path'
import t from 'tap'
import {
  findAbove,
  findFile,
  isFile,
  isProgram,
  isReachable,
  listFiles,
  readIfExists,
} from '../../../../services/runtime/builds/files.ts'
import { writeFiles } from '../../../fixtures/build-source.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test('finds files in a folder and above it, up to the root', async (t) => {
  const root = join(makeTempFolder(t, 'files'), 'root')
  writeFiles(root, { '../above': '', top: '', 'a/run': '#!', 'a/b/main': 'text' })
  const project = { root, folder: join(root, 'a/b'), file: undefined }
  t.equal(await findAbove(project, 'main'), join(root, 'a/b'))
  t.equal(await findAbove(project, 'top'), root)
  t.equal(await findAbove(project, 'above'), undefined)
  t.equal(await findFile(root, ['none', 'a', 'top']), 'top')
  t.strictSame(await listFiles(join(root, 'a')), ['run'])
  t.equal(await readIfExists(join(root, 'a/b/main')), 'text')
  for (const path of ['none', 'a', 'top/x'])
    t.equal(await readIfExists(join(root, path)), undefined)
  t.ok(await isProgram(join(root, 'a/run')))
  t.notOk(await isProgram(join(root, 'top')))
  t.notOk(await isProgram(join(root, 'a')))
  t.notOk(await isFile(join(root, 'a')))
  t.ok(await isReachable(join(root, 'a')))
})
