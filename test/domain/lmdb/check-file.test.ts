import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFile } from '../../../domain/lmdb/check-file.ts'
import { openEnvironment } from '../../../domain/lmdb/environment.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('accepts an LMDB file, an empty one, and a missing one', async (t) => {
  const folder = makeTempFolder(t, 'check')
  const file = join(folder, 'data.mdb')
  t.notOk(checkFile(file))
  writeFileSync(file, '')
  t.notOk(checkFile(file))
  await openEnvironment(folder, { what: 'it', isFlushed: false }).close()
  t.ok(checkFile(file))
  t.ok(readFileSync(file).length > 0)
})

t.test('rejects files that would crash the process', async (t) => {
  const folder = makeTempFolder(t, 'check')
  const file = join(folder, 'data.mdb')
  await openEnvironment(folder, { what: 'it', isFlushed: false }).close()
  const complete = readFileSync(file)
  writeFileSync(file, complete.subarray(0, 20))
  t.throws(() => checkFile(file), { message: `${file} is not an LMDB file` })
  writeFileSync(file, complete.subarray(0, 5000))
  t.throws(() => checkFile(file), {
    message: `${file} is truncated: it refers to pages beyond its 5000 bytes; restore it from a backup`,
  })
  writeFileSync(file, 'text '.repeat(10_000))
  t.throws(() => checkFile(file), { message: `${file} is not an LMDB file` })
})
