import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  readPrivateFile,
  removeFile,
  writePrivateFile,
} from '../../../../platform/server/files/private-file.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test(
  'only the owner can read the file, regardless of the mode of the replaced file',
  async (t) => {
    const folder = makeTempFolder(t, 'owner')
    const file = join(folder, 'secret')
    t.equal(await readPrivateFile(file), undefined)
    writeFileSync(file, 'old', { mode: 0o644 })
    await writePrivateFile(file, 'new')
    t.equal(readFileSync(file, 'utf8'), 'new')
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.equal(await readPrivateFile(file), 'new')
    t.same(readdirSync(folder), ['secret'], 'no temporary files remain')
    await removeFile(file)
    await removeFile(file)
    t.equal(await readPrivateFile(file), undefined)
  },
)

t.test('reports a file that cannot be written', async (t) => {
  const file = join(makeTempFolder(t, 'owner'), 'missing', 'secret')
  await t.rejects(writePrivateFile(file, 'new'), { message: `cannot write ${file}: ENOENT` })
})
