import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import configCommand from '../../../cli/commands/platform/config.ts'
import storeCommand from '../../../cli/commands/platform/store.ts'
import { openCliServer } from '../../fixtures/cli-server.ts'

const { home, run, mx, start } = await openCliServer(t)
const store = (...args: string[]) => run(storeCommand, ...args)
const toLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

await store('write', '-t', 'shop', 'é\u2028', 'text', '-e', '1h')
writeFileSync(join(home, 'bytes'), Buffer.from([0xff, 0x00]))
await store('write', '-t', 'shop', 'bytes', '@bytes')
await store('write', '-t', 'mail', 'x', 'y')
await store('write', '-d', 'acme', 'z', '1')
// A table reserved for the config service.
await run(configCommand, 'set', 'a', '1')

t.test(
  'a snapshot contains the records of the namespace, their number and a checksum',
  async (t) => {
    await store('snapshot', 'backup')
    const file = join(home, 'backup')
    t.equal(statSync(file).mode & 0o777, 0o600)
    const [header, ...records] = toLines(readFileSync(file, 'utf8'))
    const footer = records.pop()
    t.match(header, { snapshot: 'mx store', version: 1, created: String })
    t.match(records, [
      { database: 'mx', table: 'mail', key: 'x', value: 'eQ==', expires: 0 },
      { database: 'mx', table: 'shop', key: 'bytes', value: '/wA=', expires: 0 },
      { database: 'mx', table: 'shop', key: 'é\u2028', value: 'dGV4dA==', expires: Number },
    ])
    t.match(footer, { records: 3, sha256: /^[0-9a-f]{64}$/ })
    t.same(
      readdirSync(home).filter((name) => name.startsWith('backup.')),
      [],
    )
  },
)

t.test(
  'a snapshot of a table, database or all databases is written to standard output',
  async (t) => {
    const snapshot = async (...args: string[]) => {
      const lines = toLines(await store('snapshot', '-', ...args)).slice(1, -1)
      return lines.map(({ database, table, key }) => `${database} ${table} ${key}`)
    }
    t.same(await snapshot('-t', 'mail'), ['mx mail x'])
    t.same(await snapshot('--database=acme'), ['acme mx z'])
    t.match(await snapshot('--all'), ['acme mx z', 'mx mail x'])
    await t.rejects(snapshot('-t', 'config'), { message: /reserved for the service config/ })
    await t.rejects(snapshot('-t', 'mali'), {
      message: 'not found: the table mali of mx has no records',
      status: 1,
    })
    await t.rejects(snapshot('--all', '-t', 'mail'), {
      message: /^--all cannot be combined/,
      status: 2,
    })
  },
)

t.test('a failed snapshot is reported, and an existing file is unchanged', async (t) => {
  const folder = join(home, 'nowhere', 'backup')
  await t.rejects(store('snapshot', folder), { message: /nowhere\/backup cannot be written: / })
  await t.rejects(store('snapshot', home), { message: /not a file; use - for standard output/ })
  await t.rejects(store('snapshot', 'backup', '-d', 'missing'), {
    message: /database with records/,
  })
  t.match(readFileSync(join(home, 'backup'), 'utf8'), /"records":3/)
})

t.test('Ctrl-C cancels a snapshot and leaves no file', async (t) => {
  const records = Array.from({ length: 40 }, (_, i) => `${i}`)
  writeFileSync(join(home, 'long'), Buffer.alloc(900_000, 'x'))
  for (const key of records) await store('write', '-t', 'long', key, '@long')
  const { child, ended, output } = start('store', 'snapshot', 'cancelled', '-t', 'long')
  const hasStarted = () => readdirSync(home).some((name) => name.startsWith('cancelled.'))
  while (!hasStarted() && child.exitCode === null)
    await new Promise((resolve) => setImmediate(resolve))
  child.kill('SIGINT')
  t.equal(await ended, 130)
  t.match(output.stderr, 'mx: canceled: no snapshot was written\n')
  t.same(
    readdirSync(home).filter((name) => name.startsWith('cancelled')),
    [],
  )
})

t.test('without a destination, a pipe receives the snapshot', async (t) => {
  const { code, stdout } = await mx(['store', 'snapshot', '-t', 'mail'])
  t.equal(code, 0)
  t.equal(toLines(stdout).length, 3, 'standard output is a pipe')
})
