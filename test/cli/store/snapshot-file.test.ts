import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  checkSnapshot,
  createSnapshotLines,
  readSnapshot,
} from '../../../cli/store/snapshot-file.ts'
import { collect } from '../../../lib/async/collect.ts'

const toRecord = (database: string, value: string) => ({
  ...{ database, table: 'shop', key: 'a\u2028\n', value, expires: 0, metadata: {} },
})

async function openText(t: Test, text: string) {
  const path = join(t.testdir(), 'snapshot')
  writeFileSync(path, text)
  const file = await open(path)
  t.teardown(() => file.close())
  return file
}

t.test('a written snapshot reads back, including lines longer than a chunk', async (t) => {
  const records = [toRecord('mx', 'A'.repeat(300_000)), toRecord('acme', '')]
  const lines = createSnapshotLines(new Date(0))
  const text = [lines.header(), ...records.map(lines.record), lines.footer()].join('')
  const file = await openText(t, text)
  const { records: count, databases } = await checkSnapshot(file)
  t.equal(count, 2)
  t.same([...databases], ['mx', 'acme'])
  t.same(await collect(readSnapshot(file, count)), records)
})

t.test('a snapshot without records is valid', async (t) => {
  const lines = createSnapshotLines(new Date(0))
  const file = await openText(t, lines.header() + lines.footer())
  t.equal((await checkSnapshot(file)).records, 0)
  t.same(await collect(readSnapshot(file, 0)), [])
})

t.test('a line over the limit is rejected before it is buffered', async (t) => {
  const line = 'x'.repeat(17 * 1024 * 1024)
  const file = await openText(t, createSnapshotLines(new Date(0)).header() + line)
  await t.rejects(checkSnapshot(file), { message: /damaged: a line is too long/ })
  const unrelated = await openText(t, line)
  await t.rejects(checkSnapshot(unrelated), { message: /^not a snapshot of mx store/ })
})
