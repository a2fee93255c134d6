import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openEnvironment } from '../../../domain/lmdb/environment.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const OPTIONS = { what: 'the store', isFlushed: false }

t.test('creates the folder with access for its owner only', async (t) => {
  const folder = join(makeTempFolder(t, 'environment'), 'a/b')
  const { close } = openEnvironment(folder, OPTIONS)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of ['data.mdb', 'lock.mdb'])
    t.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  await close()
})

t.test('rejects an unusable folder with its path', (t) => {
  const file = join(makeTempFolder(t, 'environment'), 'file')
  writeFileSync(file, '')
  t.throws(() => openEnvironment(join(file, 'a'), OPTIONS), {
    message: new RegExp(`^the store cannot be opened in ${file}/a: ENOTDIR`),
  })
  t.end()
})

t.test('rejects a file that is not LMDB with its path and leaves it unchanged', (t) => {
  const folder = makeTempFolder(t, 'environment')
  const file = join(folder, 'data.mdb')
  writeFileSync(file, 'x'.repeat(10_000))
  t.throws(() => openEnvironment(folder, OPTIONS), {
    message: `the store cannot be opened in ${folder}: ${file} is not an LMDB file`,
  })
  t.equal(statSync(file).size, 10_000)
  t.end()
})

t.test('makes writes of a transaction visible after its commit', async (t) => {
  const { openTable, transact, close } = openEnvironment(makeTempFolder(t, 'environment'), OPTIONS)
  const records = openTable('records')
  t.teardown(close)
  const key = Buffer.from('a')
  const done = transact(() => {
    void records.put(key, Buffer.from('b'))
    return records.getBinary(key)!.toString()
  })
  t.equal(records.getBinary(key), undefined)
  t.equal(await done, 'b')
  t.equal(records.getBinary(key)!.toString(), 'b')
})
