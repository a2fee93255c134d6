import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { configurationFrom } from '../../platform/configuration.ts'
import { createLog } from '../../platform/log.ts'
import { startServer } from '../../platform/server.ts'
import { readFlags } from '../../platform/settings-flags.ts'
import { openServer, QUIET_WORDS } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

/** Words for a server of profile `local` whose files are in a folder of its own. */
function keepIn(folder: string): readonly string[] {
  return ['--profile=local', `--data_dir=${join(folder, 'data')}`]
}

async function logIn(server: Awaited<ReturnType<typeof openServer>>, id: string, secret: string) {
  const { status, body } = await server.post('/auth/token', { id, secret })
  return status === 200 ? body.token.access_token : status
}

async function whoIs(server: Awaited<ReturnType<typeof openServer>>, token: string) {
  const { body } = await server.post('/auth/inspect', { token })
  return body.account
}

function read(t: Test, folder: string, name: string): string {
  const file = join(folder, 'data', name)
  t.equal(statSync(file).mode & 0o777, 0o600, 'its owner alone reads it')
  return readFileSync(file, 'utf8').trim()
}

t.test('the first start makes an administrator, whose random password is told once', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, keepIn(folder))
  const file = join(folder, 'data', 'admin_password')
  const password = read(t, folder, 'admin_password')
  t.match(password, /^[\w-]{24}$/)
  t.same(server.server.adminPassword, { password, file })
  const token = await logIn(server, 'admin', password)
  t.match(await whoIs(server, token), { id: 'admin', type: 'user', scopes: ['admin'] })
  await server.server.close()
  const again = await openServer(t, keepIn(folder))
  t.equal(again.server.adminPassword, undefined)
  t.equal(read(t, folder, 'admin_password'), password)
  t.type(await logIn(again, 'admin', password), 'string')
  t.match(
    await again.post('/auth/inspect', { token }),
    { status: 200 },
    'the key of tokens is the same after a restart',
  )
})

t.test('services of whoever runs the server find an account of theirs in a file', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, keepIn(folder))
  const { id, secret } = JSON.parse(read(t, folder, 'service_credentials'))
  const token = await logIn(server, id, secret)
  t.match(await whoIs(server, token), { id: 'local', type: 'service', scopes: ['service'] })
})

t.test('the password is the one that is given, and is in no file', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, [...keepIn(folder), '--admin_password=correct horse'])
  t.equal(server.server.adminPassword, undefined)
  t.type(await logIn(server, 'admin', 'correct horse'), 'string')
  t.throws(() => statSync(join(folder, 'data', 'admin_password')))
})

t.test('in profile test it is mx', async (t) => {
  const server = await openServer(t)
  t.equal(server.server.adminPassword, undefined)
  t.type(await logIn(server, 'admin', 'mx'), 'string')
})

t.test('there is no administrator where none is wanted', async (t) => {
  const server = await openServer(t, ['--disable_admin'])
  t.equal(await logIn(server, 'admin', 'mx'), 400)
})

t.test('a password everybody knows is refused where others reach the server', async (t) => {
  const open = [...QUIET_WORDS.filter((word) => !word.includes('web')), '--web_address=0.0.0.0:0']
  const refused = async (folder: string, words: readonly string[]) => {
    const flags = readFlags([...open, ...keepIn(folder), ...words], 'server')
    const configuration = await configurationFrom(flags, {}, 'server')()
    await t.rejects(startServer({ configuration, log: createLog('silent') }), {
      name: 'SettingsError',
      message: /is "mx", which everybody knows, and others reach 0\.0\.0\.0:0/,
    })
  }
  await refused(makeTempFolder(t, 'first'), ['--admin_password=mx'])
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, [...keepIn(folder), '--admin_password=mx'])
  await server.server.close()
  await refused(folder, [])
})
