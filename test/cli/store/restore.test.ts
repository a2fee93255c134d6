import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import storeCommand from '../../../cli/commands/platform/store.ts'
import { createSnapshotLines } from '../../../cli/store/snapshot-file.ts'
import { openCliServer } from '../../fixtures/cli-server.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const { home, run, mx, start } = await openCliServer(t)
const store = (...args: string[]) => run(storeCommand, ...args)
const toRecord = (key: string, expires = 0) => ({
  ...{ database: 'mx', table: 'shop', key, value: 'AP8=', expires },
  metadata: { from: { type: 'string', value: 'me' } },
})
const toSnapshot = (records: readonly ReturnType<typeof toRecord>[]): string => {
  const lines = createSnapshotLines(new Date())
  return [lines.header(), ...records.map(lines.record), lines.footer()].join('')
}
const write = (name: string, text: string): void => writeFileSync(join(home, name), text)
/** @returns a function that lists temporary copies of snapshots. */
function watchCopies(t: Test): () => readonly string[] {
  const folder = makeTempFolder(t, 'temporary')
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  })
  process.env['TMPDIR'] = folder
  return () => readdirSync(folder).filter((name) => name.startsWith('mx-restore-'))
}
const inOneHour = Math.floor(Date.now() / 1000) + 3600

t.test('more than a page of records is restored, without expired ones', async (t) => {
  const keys = Array.from({ length: 1100 }, (_, i) => `k${String(i).padStart(4, '0')}`)
  write('many', toSnapshot([...keys.map((key) => toRecord(key)), toRecord('ended', 1)]))
  t.equal(await store('restore', 'many'), '')
  t.equal(await store('list', '-t', 'shop'), keys.map((key) => `${key}\n`).join(''))
  const read = JSON.parse(await store('read', '-p', '-t', 'shop', '-o', 'json', '-l', '1050'))
  t.same(
    read.map(({ key }: { key: string }) => key),
    keys.slice(0, 1050),
  )
  t.match(read[0], { value_base64: 'AP8=', metadata: { from: { value: 'me' } }, expiry: 0 })
  await store('snapshot', 'again')
  const toRecords = (name: string) => readFileSync(join(home, name), 'utf8').split('\n').slice(1)
  t.same(toRecords('again').slice(0, -2), toRecords('many').slice(0, -3))
})

t.test('a snapshot is restored into another database, or only one table', async (t) => {
  const other = { ...toRecord('b', inOneHour), table: 'other' }
  write('two', toSnapshot([toRecord('a', inOneHour), other]))
  await store('restore', 'two', '-d', 'acme', '-t', 'other')
  t.equal(await store('tables', '-d', 'acme'), 'other\n')
  t.match(JSON.parse(await store('read', 'b', '-d', 'acme', '-t', 'other', '-o', 'json')), [
    { key: 'b', expiry: Number },
  ])
  write('mixed', toSnapshot([toRecord('a'), { ...toRecord('b'), database: 'acme' }]))
  await t.rejects(store('restore', 'mixed', '-d', 'else'), {
    message: '--database requires a snapshot of one database, got 2: mx, acme; nothing was written',
    status: 2,
  })
})

t.test('restore and snapshot print a summary at a terminal', async (t) => {
  t.teardown(() => {
    process.stdout.isTTY = false
  })
  process.stdout.isTTY = true
  write('few', toSnapshot([toRecord('a'), toRecord('b'), toRecord('ended', 1)]))
  t.equal(await store('restore', 'few'), '2 records restored from few, 1 expired\n')
  t.equal(
    await store('snapshot', 'none', '-d', 'acme', '-t', 'other'),
    '1 record written to none\n',
  )
})

t.test('a damaged snapshot is rejected before any write', async (t) => {
  const complete = toSnapshot([toRecord('new/1'), toRecord('new/2')])
  const lines = complete.split('\n')
  const damaged = {
    'its footer is missing': `${lines.slice(0, 3).join('\n')}\n`,
    'its last line is incomplete': complete.slice(0, -10),
    'its checksum does not match': complete.replace('new/2', 'new/3'),
    'expected 2 records, got 1': [lines[0], lines[1], ...lines.slice(3)].join('\n'),
    'record 1 is invalid': complete.replace('"key":"new/1"', '"key":1'),
  }
  for (const [reason, text] of Object.entries(damaged)) {
    write('damaged', text)
    await t.rejects(store('restore', 'damaged'), {
      message: `the snapshot is damaged: ${reason}; nothing was written`,
      status: 1,
    })
  }
  for (const text of [
    '',
    'something else',
    'something else\n',
    '{"snapshot":"of another"}\n{}\n',
  ]) {
    write('foreign', text)
    await t.rejects(store('restore', 'foreign'), {
      message: 'not a snapshot of mx store; nothing was written',
      status: 1,
    })
  }
  write('damaged', complete.replace('"version":1', '"version":9'))
  await t.rejects(store('restore', 'damaged'), { message: /^unsupported snapshot version 9/ })
  write('damaged', `${lines[0]}\n`)
  await t.rejects(store('restore', 'damaged'), { message: /its footer is missing/ })
  t.equal(await store('list', '-t', 'shop', '-p', 'new/'), '')
  await t.rejects(store('restore', 'nowhere'), { message: /^nowhere cannot be read: ENOENT/ })
})

t.test('a snapshot is restored from standard input, and no temporary copy remains', async (t) => {
  const listCopies = watchCopies(t)
  const text = toSnapshot([toRecord('piped')])
  t.same(await mx(['store', 'restore'], text), { code: 0, stdout: '', stderr: '' })
  t.equal(await store('list', '-t', 'shop', '-p', 'piped'), 'piped\n')
  t.match(await mx(['store', 'restore'], text.slice(0, -9)), { code: 1, stderr: /damaged/ })
  t.same(listCopies(), [])
})

t.test('Ctrl-C during a transfer cancels the restore, and no temporary copy remains', async (t) => {
  const listCopies = watchCopies(t)
  const pipe = join(home, 'pipe')
  execFileSync('mkfifo', [pipe])
  const writer = openSync(pipe, 'r+')
  const { child, ended, waitUntil } = start('store', 'restore', pipe)
  while (listCopies().length === 0 && child.exitCode === null)
    await new Promise((resolve) => setImmediate(resolve))
  child.kill('SIGINT')
  await waitUntil(/^mx: canceled: nothing was written$/m)
  // Node.js does not exit while a read of a pipe is pending.
  closeSync(writer)
  t.equal(await ended, 130)
  t.same(listCopies(), [])
})

t.test(
  'a rejected write ends the restore and reports the number of records written before',
  async (t) => {
    write('reserved', toSnapshot([{ ...toRecord('x'), table: 'auth' }]))
    await t.rejects(store('restore', 'reserved'), {
      message: /reserved for the service auth.*; 0 records written before the failure$/,
      status: 127,
    })
  },
)
