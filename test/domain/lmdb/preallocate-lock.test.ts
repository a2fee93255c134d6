import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../../domain/lmdb/environment.ts'
import { reserveLock } from '../../../domain/lmdb/preallocate-lock.ts'
import { mountSmallDisk } from '../../fixtures/small-disk.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const OPTIONS = { what: 'the store', isFlushed: false }

t.test('fills holes of the file and preserves its contents', async (t) => {
  const file = join(makeTempFolder(t, 'lock'), 'lock.mdb')
  reserveLock(file, true)
  t.match(statSync(file), { size: 12_288, blocks: 24 })
  t.equal(statSync(file).mode & 0o777, 0o600)
  writeFileSync(file, 'readers')
  truncateSync(file, 8272)
  reserveLock(file, false)
  t.match(statSync(file), { size: 12_288, blocks: 24 })
  const bytes = readFileSync(file)
  t.equal(bytes.toString('latin1', 0, 7), 'readers')
  t.ok(bytes.subarray(7).every((byte) => byte === 0))
})

t.test('reports a full disk when a new store is opened', async (t) => {
  const disk = mountSmallDisk(t, 1)
  if (disk === undefined) return
  const filler = join(disk.folder, 'rest')
  for (const free of [0, 4, 12, 20, 40, 100, 200]) {
    const folder = join(disk.folder, 'store')
    rmSync(filler, { force: true })
    rmSync(folder, { recursive: true, force: true })
    // The folder occupies one block.
    writeFileSync(filler, Buffer.alloc((1020 - free) * 1024))
    t.throws(() => openEnvironment(folder, OPTIONS), {
      message: /^the store cannot be opened in [^\n]*: ENOSPC: no space left on device[^\n]*$/,
    })
    t.notOk(existsSync(join(folder, 'lock.mdb')))
  }
})

t.test('opens and reads an existing store on a full disk', async (t) => {
  const disk = mountSmallDisk(t, 1)
  if (disk === undefined) return
  const folder = join(disk.folder, 'store')
  const open = () => {
    const { openTable, transact, close } = openEnvironment(folder, OPTIONS)
    return { records: openTable('records'), transact, close }
  }
  const { records, transact, close } = open()
  await transact(() => void records.put(Buffer.from('a'), Buffer.from('b')))
  await close()
  const fillDisk = () => writeFileSync(join(disk.folder, 'rest'), Buffer.alloc(1024 * 1024))
  t.throws(fillDisk, { code: 'ENOSPC' })
  const reopened = open()
  t.equal(reopened.records.get(Buffer.from('a'))!.toString(), 'b')
  await reopened.close()
})
