import { copyFileSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFile } from '../../../../domain/lmdb/check-file.ts'
import { isIntact } from '../../../../domain/lmdb/check-tree.ts'
import { openEnvironment } from '../../../../domain/lmdb/environment.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const PAGE = 4096
const OPTIONS = { what: 'the store', isFlushed: true }

function toKey(i: number): Buffer {
  return Buffer.from(`k${String(i).padStart(5, '0')}`)
}

/** Pseudo-random numbers with a fixed seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1103515245 + 12345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

t.test('a truncated file is either rejected or completely readable', async (t) => {
  const folder = makeTempFolder(t, 'whole')
  const { openTable, transact, close } = openEnvironment(join(folder, 'a'), OPTIONS)
  const records = openTable('records')
  await transact(() => {
    for (let i = 0; i < 500; i++) void records.put(toKey(i), Buffer.alloc(100 + (i % 50) * 200, i))
  })
  await transact(() => {
    for (let i = 0; i < 500; i += 3) void records.remove(toKey(i))
  })
  await close()
  const file = join(folder, 'a/data.mdb')
  const pages = readFileSync(file).length / PAGE
  t.ok(checkFile(file))
  let rejected = 0
  for (let pageCount = 2; pageCount < pages; pageCount += 7) {
    const copy = join(folder, String(pageCount), 'data.mdb')
    await openEnvironment(join(folder, String(pageCount)), OPTIONS).close()
    copyFileSync(file, copy)
    truncateSync(copy, pageCount * PAGE - 1000 * (pageCount % 2))
    try {
      checkFile(copy)
    } catch (error) {
      t.match(error, { message: /data\.mdb is truncated: / })
      rejected++
      continue
    }
    const reopened = openEnvironment(join(folder, String(pageCount)), OPTIONS)
    t.equal([...reopened.openTable('records').getRange({})].length, 333)
    await reopened.close()
  }
  t.ok(rejected > pages / 7 / 2, `${rejected} of ${Math.ceil(pages / 7)}`)
})

t.test('a file whose free pages at the end were never written is intact', async (t) => {
  const folder = makeTempFolder(t, 'whole')
  const { openTable, transact, close } = openEnvironment(folder, OPTIONS)
  t.teardown(close)
  const records = openTable('records')
  const file = join(folder, 'data.mdb')
  const random = createRandom(7)
  let short = 0
  for (let round = 0; round < 300; round++) {
    await transact(() => {
      for (let i = random(200); i > 0; i--) {
        const key = toKey(random(3000))
        if (random(2) === 0) void records.remove(key)
        else void records.put(key, Buffer.alloc(random(random(20) === 0 ? 60_000 : 900)))
      }
      if (round % 20 === 19) for (let i = 0; i < 3000; i++) void records.remove(toKey(i))
    })
    const bytes = readFileSync(file)
    const last = [0, PAGE].map((at) => [
      bytes.readBigUInt64LE(at + 152),
      bytes.readBigUInt64LE(at + 144),
    ])
    const newest = last.sort(([a], [b]) => Number(b! - a!))[0]![1]!
    if (newest >= bytes.length / PAGE) short++
    t.ok(checkFile(file))
  }
  t.comment(`${short} times, the file was shorter than its pages`)
})

t.test('pages that do not form a tree are rejected', (t) => {
  const empty = Buffer.alloc(PAGE)
  t.notOk(isIntact([0n], () => empty, 10))
  const cyclicPage = Buffer.alloc(PAGE)
  cyclicPage.writeUInt16LE(1, 18)
  cyclicPage.writeUInt16LE(2, 20)
  cyclicPage.writeUInt16LE(100, 24)
  t.notOk(
    isIntact([3n], () => cyclicPage, 10),
    'a page that points to itself',
  )
  t.ok(
    isIntact([0xffff_ffff_ffff_ffffn], () => undefined, 10),
    'an empty tree',
  )
  t.end()
})
