import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLogFiles } from '../../../../../adapters/runtime/process/logs/log-files.ts'
import { mountSmallDisk } from '../../../../fixtures/small-disk.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

const FROM = { instance: 'a', stream: 'stdout' } as const
const FILE_LIMITS = { fileBytes: 1000, files: 2 }

t.test('creates nothing before the first line', async (t) => {
  const folder = join(makeTempFolder(t, 'log'), 'one')
  const log = openLogFiles(folder, FILE_LIMITS, () => {})
  t.notOk(existsSync(folder))
  t.strictSame(log.list(), [])
  await log.close()
  t.notOk(existsSync(folder))
})

t.test('reports an unwritable folder once and recovers', async (t) => {
  const folder = join(makeTempFolder(t, 'log'), 'one')
  writeFileSync(folder, 'in the way')
  const errors: Error[] = []
  const log = openLogFiles(folder, FILE_LIMITS, (error) => errors.push(error))
  for (const text of ['one', 'two']) {
    log.append(FROM, [text])
    await log.written()
  }
  t.match(errors, [{ code: /EEXIST|ENOTDIR/ }])
  await import('node:fs/promises').then(({ rm }) => rm(folder))
  log.append(FROM, ['three'])
  await log.close()
  t.match(readFileSync(log.toPath(1), 'utf8'), /^\d+ a o three\n$/)
})

t.test('is full while the buffer exceeds its limit', async (t) => {
  const log = openLogFiles(join(makeTempFolder(t, 'log'), 'one'), FILE_LIMITS, () => {})
  t.notOk(log.isFull())
  log.append(FROM, ['x'.repeat(2 * 1024 * 1024)])
  t.ok(log.isFull())
  await log.written()
  t.notOk(log.isFull())
  await log.close()
})

t.test('drops complete lines on a full disk and reports it once', async (t) => {
  const disk = mountSmallDisk(t, 1)
  if (disk === undefined) return
  const errors: Error[] = []
  const largeLimits = { fileBytes: 16 * 1024 * 1024, files: 2 }
  const log = openLogFiles(join(disk.folder, 'log'), largeLimits, (error) => errors.push(error))
  const texts = Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(2000)}`)
  for (let from = 0; from < texts.length; from += 10) {
    log.append(FROM, texts.slice(from, from + 10))
    await log.written()
  }
  t.match(errors, [{ code: 'ENOSPC' }])
  disk.resize(8)
  log.append(FROM, ['again'])
  await log.close()
  const lines = readFileSync(log.toPath(1), 'utf8').trim().split('\n')
  t.ok(lines.length > 400)
  t.match(lines.pop()!, / o again$/)
  t.ok(lines.every((line) => /^\d+ a o \d+ x{2000}$/.test(line)))
})
