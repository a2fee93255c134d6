import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isServerId } from '../../../domain/mesh/names.ts'
import { createServerId, readServerId } from '../../../platform/server/server-id.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('the id of a server is stable across restarts', async (t) => {
  const folder = makeTempFolder(t, 'server-id')
  const id = await readServerId(folder)
  t.ok(isServerId(id))
  t.equal(await readServerId(folder), id)
  t.equal(readFileSync(join(folder, 'server_id'), 'utf8'), `${id}\n`)
  t.equal(statSync(join(folder, 'server_id')).mode & 0o777, 0o600)
  t.strictSame(readdirSync(folder), ['server_id'], 'no temporary files remain')
})

t.test('ids start with the host name and are unique', (t) => {
  t.match(createServerId('web-1.example.com'), /^web-1\.example\.com-[0-9a-f]{8}$/)
  t.not(createServerId('web'), createServerId('web'))
  for (const host of ['', '-', 'ä b', 'x'.repeat(300), '.x'])
    t.ok(isServerId(createServerId(host)), host)
  t.end()
})

t.test('accepts a custom id and rejects an invalid one', async (t) => {
  const folder = makeTempFolder(t, 'server-id')
  const file = join(folder, 'server_id')
  writeFileSync(file, ' north \n')
  t.equal(await readServerId(folder), 'north')
  writeFileSync(file, 'a b')
  await t.rejects(readServerId(folder), {
    message: `${file} must contain the server id, 1 to 100 letters, digits, and inner dots, dashes or underscores, got "a b"; remove it to create a new id`,
  })
  t.equal(readFileSync(file, 'utf8'), 'a b')
})

t.test('reports a folder that is not writable with a one-line message', async (t) => {
  const folder = makeTempFolder(t, 'server-id')
  await t.rejects(readServerId(join(folder, 'none')), {
    message: /^cannot store the server id in .*server_id: ENOENT[^\n]*$/,
  })
  mkdirSync(join(folder, 'server_id'))
  await t.rejects(readServerId(folder), {
    message: /^cannot store the server id [^\n]*: EISDIR[^\n]*$/,
  })
})
