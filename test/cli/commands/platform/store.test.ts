import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import storeCommand from '../../../../cli/commands/platform/store.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { home, run, mx } = await openCliServer(t)
const store = (...args: string[]) => run(storeCommand, ...args)

t.test('a record is written, read and deleted', async (t) => {
  t.equal(await store('write', 'user/1', '{"name":"Ann"}'), '')
  t.equal(await store('read', 'user/1'), '{"name":"Ann"}\n')
  t.equal(await store('delete', 'user/1', 'user/2'), '', 'a missing key is ignored')
  t.same(await mx(['store', 'read', 'user/1']), {
    code: 1,
    stdout: '',
    stderr: 'mx: not found: user/1 (Id store.Store.Read)\n',
  })
})

t.test('a misspelt subcommand is rejected with a suggestion', async (t) => {
  t.match(await mx(['store', 'red', 'a']), { code: 5, stderr: /did you mean read\?/ })
})

t.test('bytes from a file or standard input are stored and printed unchanged', async (t) => {
  const bytes = Buffer.from([0xff, 0x00, 0x0a, 0x80])
  writeFileSync(join(home, 'bytes'), bytes)
  const args = ['write', 'file', '@bytes', '-t', 'bytes', '-o', 'json']
  t.same(JSON.parse(await store(...args)), { key: 'file' })
  t.equal((await mx(['store', 'write', 'in', '-', '-t', 'bytes'], bytes)).code, 0)
  for (const key of ['file', 'in'])
    t.equal(await store('read', key, '-t', 'bytes', '-o', 'raw'), bytes.toString('latin1'))
  t.equal(await store('read', 'in', '-t', 'bytes'), `${bytes.toString('latin1')}\n`)
  t.match(JSON.parse(await store('read', 'in', '-t', 'bytes', '-o', 'json')), [
    { key: 'in', value_base64: bytes.toString('base64') },
  ])
})

t.test('read selects by prefix, suffix or range, and prints one value per line', async (t) => {
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1'])
    await store('write', '--table=many', key, `value of ${key}`)
  const read = (...args: string[]) => store('read', '-t', 'many', ...args)
  const all = 'value of a/1\nvalue of a/2\nvalue of a/3\n'
  t.equal(await read('--prefix', 'a/'), all)
  t.equal(await read('a/', '--prefix'), all)
  t.equal(await read('-p', '-l', '2', 'a/'), 'value of a/1\nvalue of a/2\n')
  t.equal(await read('-p', 'a/', '--offset=1', '--order=desc'), 'value of a/2\nvalue of a/1\n')
  t.equal(await read('--suffix=/1'), 'value of a/1\nvalue of b/1\n')
  t.equal(await read('--from=a/3', '--to=b/1'), 'value of a/3\n')
  t.equal(await read('--prefix=z'), '')
})

t.test('list prints keys, all or selected ones', async (t) => {
  const list = (...args: string[]) => store('list', '-t', 'many', ...args)
  t.equal(await list(), 'a/1\na/2\na/3\nb/1\n')
  t.equal(await list('-p', 'a/', '-l', '1', '--offset', '1'), 'a/2\n')
  t.same(JSON.parse(await list('--suffix=/1', '-o', 'json')), ['a/1', 'b/1'])
  t.equal(await list('-p', 'b', '-o', 'yaml'), '- b/1\n')
})

t.test('--verbose prints keys, values and expiry', async (t) => {
  await store('write', '-t', 'ends', 'never', 'one\ttwo')
  await store('write', '-t', 'ends', 'soon', '\u00e4', '-e', '90m')
  const [headings, withoutExpiry, withExpiry] = (
    await store('read', '-t', 'ends', '-p', '-v')
  ).split('\n')
  t.match(headings, /^KEY\t+VALUE\t+EXPIRY$/)
  t.match(withoutExpiry, /^never\t+"one\\ttwo"\t+None$/)
  t.match(Buffer.from(withExpiry!, 'latin1').toString(), /^soon\t+ä\t+1h(30m0s|29m\d+s)$/)
  await t.rejects(store('write', 'x', 'y', '--expiry=60'), {
    message: /^--expiry must be a duration .* without a unit: write 60ms or 60s$/,
  })
  await t.rejects(store('write', 'x', 'y', '--expiry=soon'), {
    message: /^--expiry must be a duration/,
    status: 2,
  })
})

t.test('databases and tables are listed', async (t) => {
  await store('write', '--database=acme', '-t', 'shop', 'x', 'y')
  t.ok((await store('databases')).split('\n').includes('acme'))
  t.equal(await store('tables', '-d', 'acme'), 'shop\n')
  t.ok((await store('tables')).split('\n').includes('many'))
  await t.rejects(store('tables', '-d', 'missing'), { message: /database with records/ })
})

t.test('malformed arguments are rejected with the expected form', async (t) => {
  await t.rejects(store('read'), { message: /^a key, --prefix/, status: 2 })
  await t.rejects(store('read', 'x', '--order=up'), { message: /must be asc or desc/, status: 2 })
  await t.rejects(store('list', '--limit=few'), { message: /^--limit must be a whole number/ })
  await t.rejects(store('list', '-o', 'raw'), { message: /^Invalid output: raw/, status: 2 })
  await t.rejects(store('read', '-t', 'auth', '-p'), { message: /reserved/, status: 127 })
})
