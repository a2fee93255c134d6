import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lockFolder } from '../../../platform/server/files/folder-lock.ts'
import { resetAccessOffline } from '../../../platform/server/reset-access.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('reports a folder without server data', async (t) => {
  const folder = makeTempFolder(t, 'data')
  const reset = (...args: string[]) => resetAccessOffline(args, {})
  await t.rejects(reset('--store=memory'), { message: /^the store is in memory/ })
  const missingFolder = `--data_dir=${join(folder, 'nowhere')}`
  await t.rejects(reset(missingFolder), {
    message: /nowhere contains no server data: set the folder/,
  })
  await t.rejects(reset('--data_dirs=x'), { message: /did you mean --data_dir/ })
})

t.test('does not change the data of a running server', async (t) => {
  const folder = makeTempFolder(t, 'data')
  mkdirSync(join(folder, 'store'), { mode: 0o700 })
  const lock = await lockFolder(folder)
  await t.rejects(resetAccessOffline([], { MX_DATA_DIR: folder }), {
    message: /is in use by another mx server .*: stop it/,
  })
  await lock.release()
  const { password, rules, notAudited } = await resetAccessOffline([], { MX_DATA_DIR: folder })
  t.same({ rules, notAudited }, { rules: [], notAudited: undefined })
  t.equal(password.file, join(folder, 'admin_password'))
})
