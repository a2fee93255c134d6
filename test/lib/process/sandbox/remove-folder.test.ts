import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { removeFolder } from '../../../../lib/process/sandbox/remove-folder.ts'
import { openSandbox } from '../../../../lib/process/sandbox/sandbox.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const skip = process.getuid?.() !== 0 && 'requires root'
const USER = 200_000

t.test('removes a folder or a file, and ignores a missing path', async (t) => {
  const folder = join(makeTempFolder(t, 'remove'), 'folder')
  mkdirSync(join(folder, 'a/b'), { recursive: true })
  writeFileSync(join(folder, 'file'), '')
  await removeFolder(join(folder, 'file'))
  t.notOk(existsSync(join(folder, 'file')))
  await removeFolder(folder)
  t.notOk(existsSync(folder))
  await removeFolder(folder)
})

t.test('deletes the content of folders of another user as that user', { skip }, async (t) => {
  const data = makeTempFolder(t, 'remove')
  const userIds = { first: USER, last: USER + 9 }
  const options = { folder: join(data, 'isolation'), hidden: data, installed: [], userIds }
  const { sandbox } = await openSandbox(options)
  for (const used of [sandbox, undefined])
    for (const name of ['copy/home', 'home']) {
      const home = join(data, name)
      const closed = join(home, 'closed')
      mkdirSync(closed, { recursive: true })
      writeFileSync(join(closed, '.file'), '')
      writeFileSync(join(home, '..file'), '')
      symlinkSync(data, join(home, 'link'))
      for (const path of [home, closed, join(closed, '.file')]) chownSync(path, USER, USER)
      // Go leaves its modules in read-only folders.
      chmodSync(closed, 0o500)
      const top = join(data, name.split('/')[0]!)
      await removeFolder(top, used)
      t.notOk(existsSync(top), name)
    }
  t.ok(existsSync(data))

  // The state of a folder that a program replaces with a link while it is removed. Root can delete this file, but the
  // user cannot.
  const home = join(data, 'home')
  const secrets = join(home, 'secrets')
  mkdirSync(secrets, { recursive: true, mode: 0o700 })
  writeFileSync(join(secrets, 'key'), '')
  chownSync(home, USER, USER)
  for (const used of [sandbox, undefined]) {
    await t.rejects(removeFolder(home, used), { code: 'ENOTEMPTY' })
    t.ok(existsSync(join(secrets, 'key')), 'files that the user cannot delete remain')
  }
})
