import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLogFiles } from '../../../../adapters/runtime/process/log-files.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const FROM = { instance: 'a', stream: 'stdout' } as const
const ROOM = { fileBytes: 1000, files: 2 }

t.test('nothing is made before there is a line', async (t) => {
  const folder = join(makeTempFolder(t, 'log'), 'one')
  const log = openLogFiles(folder, ROOM, () => {})
  t.notOk(existsSync(folder))
  t.strictSame(log.list(), [])
  await log.close()
  t.notOk(existsSync(folder))
})

t.test(
  'a folder that cannot be written: told once, and lines are written once it can',
  async (t) => {
    const folder = join(makeTempFolder(t, 'log'), 'one')
    writeFileSync(folder, 'in the way')
    const errors: Error[] = []
    const log = openLogFiles(folder, ROOM, (error) => errors.push(error))
    for (const text of ['one', 'two']) {
      log.append(FROM, [text])
      await log.written()
    }
    t.match(errors, [{ code: /EEXIST|ENOTDIR/ }])
    await import('node:fs/promises').then(({ rm }) => rm(folder))
    log.append(FROM, ['three'])
    await log.close()
    t.match(readFileSync(log.toPath(1), 'utf8'), /^\d+ a o three\n$/)
  },
)

t.test('it is full while much waits to be written', async (t) => {
  const log = openLogFiles(join(makeTempFolder(t, 'log'), 'one'), ROOM, () => {})
  t.notOk(log.isFull())
  log.append(FROM, ['x'.repeat(2 * 1024 * 1024)])
  t.ok(log.isFull())
  await log.written()
  t.notOk(log.isFull())
  await log.close()
})
