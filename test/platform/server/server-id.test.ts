import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isServerId } from '../../../domain/mesh/names.ts'
import { makeServerId, readServerId } from '../../../platform/server/server-id.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('a server has the same id whenever it is started', async (t) => {
  const folder = makeTempFolder(t, 'server-id')
  const id = await readServerId(folder)
  t.ok(isServerId(id))
  t.equal(await readServerId(folder), id)
  t.equal(readFileSync(join(folder, 'server_id'), 'utf8'), `${id}\n`)
  t.equal(statSync(join(folder, 'server_id')).mode & 0o777, 0o600)
  t.strictSame(readdirSync(folder), ['server_id'], 'and nothing else is left')
})

t.test('ids begin with the name of the host, and are not the same', (t) => {
  t.match(makeServerId('web-1.example.com'), /^web-1\.example\.com-[0-9a-f]{8}$/)
  t.not(makeServerId('web'), makeServerId('web'))
  for (const host of ['', '-', 'ä b', 'x'.repeat(300), '.x'])
    t.ok(isServerId(makeServerId(host)), host)
  t.end()
})

t.test('one that was written by hand is taken, and what is none is refused', async (t) => {
  const folder = makeTempFolder(t, 'server-id')
  const file = join(folder, 'server_id')
  writeFileSync(file, ' north \n')
  t.equal(await readServerId(folder), 'north')
  writeFileSync(file, 'a b')
  await t.rejects(readServerId(folder), {
    message: `${file} must hold the id of this server, 1 to 100 letters, digits, and inner dots, dashes or underscores, got "a b"; without it a new one is made`,
  })
  t.equal(readFileSync(file, 'utf8'), 'a b')
})

t.test('a folder where nothing can be kept: one line', async (t) => {
  const folder = makeTempFolder(t, 'server-id')
  await t.rejects(readServerId(join(folder, 'none')), {
    message: /^the id of this server cannot be kept in .*server_id: ENOENT[^\n]*$/,
  })
  mkdirSync(join(folder, 'server_id'))
  await t.rejects(readServerId(folder), { message: /^the id of this server [^\n]*: EISDIR[^\n]*$/ })
})
