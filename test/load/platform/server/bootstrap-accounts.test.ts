import { existsSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { forgetPassword } from '../../../../platform/server/bootstrap-accounts.ts'
import { startServer } from '../../../../platform/server/server.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { openServer, QUIET_FLAGS } from '../../../fixtures/server.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

// Complete servers, which need 100 ms to hash each secret.
t.setTimeout(180_000)

/** Arguments of a server of the `local` profile with files in its own folder. */
function toFileFlags(folder: string): readonly string[] {
  return ['--profile=local', `--data_dir=${join(folder, 'data')}`]
}

async function logIn(server: Awaited<ReturnType<typeof openServer>>, id: string, secret: string) {
  const { status, body } = await server.post('/auth/token', { id, secret })
  return status === 200 ? body.token.access_token : status
}

async function inspectToken(server: Awaited<ReturnType<typeof openServer>>, token: string) {
  const { body } = await server.post('/auth/inspect', { token })
  return body.account
}

function read(t: Test, folder: string, name: string): string {
  const file = join(folder, 'data', name)
  t.equal(statSync(file).mode & 0o777, 0o600, 'readable by its owner only')
  return readFileSync(file, 'utf8').trim()
}

t.test(
  'the first start creates an administrator with a random password that is shown once',
  async (t) => {
    const folder = makeTempFolder(t, 'first')
    const server = await openServer(t, toFileFlags(folder))
    const file = join(folder, 'data', 'admin_password')
    const password = read(t, folder, 'admin_password')
    t.match(password, /^[\w-]{24}$/)
    t.same(server.server.adminPassword, { password, file })
    const token = await logIn(server, 'admin', password)
    t.match(await inspectToken(server, token), { id: 'admin', type: 'user', scopes: ['admin'] })
    await server.server.close()
    const reopened = await openServer(t, toFileFlags(folder))
    t.equal(reopened.server.adminPassword, undefined)
    t.equal(read(t, folder, 'admin_password'), password)
    t.type(await logIn(reopened, 'admin', password), 'string')
    t.match(
      await reopened.post('/auth/inspect', { token }),
      { status: 200 },
      'tokens are valid after a restart',
    )
    const change = { id: 'admin', old_secret: password, new_secret: 'another one' }
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await reopened.post('/auth/accounts/changeSecret', change, headers)).status, 200)
    await waitUntil(() => !existsSync(file))
  },
)

t.test(
  'removes the password file at the next start if the password was changed elsewhere',
  async (t) => {
    const folder = makeTempFolder(t, 'first')
    const first = await openServer(t, toFileFlags(folder))
    await first.server.close()
    const file = join(folder, 'data', 'admin_password')
    const password = readFileSync(file, 'utf8')
    // Simulates a change by another server with the same store.
    writeFileSync(file, 'the one before\n')
    const second = await openServer(t, toFileFlags(folder))
    await waitUntil(() => !existsSync(file))
    t.type(await logIn(second, 'admin', password.trim()), 'string')
  },
)

t.test('removes the password file only when the password becomes invalid', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const file = join(folder, 'admin_password')
  const existsAfter = async (action: string, namespace = 'mx', target = 'admin') => {
    writeFileSync(file, 'password')
    const record = { action, namespace, target, account: '', address: '', request: '', time: 0 }
    await forgetPassword(record, folder)
    return existsSync(file)
  }
  t.notOk(await existsAfter('account.change-secret'))
  t.notOk(await existsAfter('account.delete'))
  t.ok(await existsAfter('login.failed'))
  t.ok(await existsAfter('account.change-secret', 'acme'))
  t.ok(await existsAfter('account.change-secret', 'mx', 'ann'))
})

t.test('stores the credentials of the local service account in a file', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, toFileFlags(folder))
  const { id, secret } = JSON.parse(read(t, folder, 'service_credentials'))
  const token = await logIn(server, id, secret)
  t.match(await inspectToken(server, token), { id: 'local', type: 'service', scopes: ['service'] })
})

t.test(
  'replaces the secret of the local account if its file is missing, and leaves other accounts unchanged',
  async (t) => {
    const folder = makeTempFolder(t, 'first')
    const first = await openServer(t, toFileFlags(folder))
    const old = JSON.parse(read(t, folder, 'service_credentials'))
    await first.server.close()
    unlinkSync(join(folder, 'data', 'service_credentials'))
    const second = await openServer(t, toFileFlags(folder))
    const { id, secret } = JSON.parse(read(t, folder, 'service_credentials'))
    t.equal(await logIn(second, id, old.secret), 400)
    const admin = await logIn(second, 'admin', read(t, folder, 'admin_password'))
    const headers = { authorization: `Bearer ${await logIn(second, id, secret)}` }
    t.equal((await second.get('/auth/rules/list', headers)).status, 200)
    const adminHeaders = { authorization: `Bearer ${admin}` }
    await second.post('/auth/accounts/delete', { id }, adminHeaders)
    await second.post('/auth/generate', { id, secret: 'a user of that name' }, adminHeaders)
    await second.server.close()
    unlinkSync(join(folder, 'data', 'service_credentials'))
    const third = await openServer(t, toFileFlags(folder))
    t.type(await logIn(third, 'local', 'a user of that name'), 'string')
    t.throws(() => statSync(join(folder, 'data', 'service_credentials')))
  },
)

t.test('uses the configured password and stores it in no file', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, [...toFileFlags(folder), '--admin_password=correct horse'])
  t.equal(server.server.adminPassword, undefined)
  t.type(await logIn(server, 'admin', 'correct horse'), 'string')
  t.throws(() => statSync(join(folder, 'data', 'admin_password')))
})

t.test('the password in the test profile is mx', async (t) => {
  const server = await openServer(t)
  t.equal(server.server.adminPassword, undefined)
  t.type(await logIn(server, 'admin', 'mx'), 'string')
})

t.test('disable_admin creates no administrator', async (t) => {
  const folder = makeTempFolder(t, 'first')
  const server = await openServer(t, [
    ...toFileFlags(folder),
    '--disable_admin',
    '--admin_password=correct horse',
  ])
  t.equal(await logIn(server, 'admin', 'correct horse'), 400)
})

t.test(
  'rejects the public password on an address that is reachable from other machines',
  async (t) => {
    const open = [...QUIET_FLAGS.filter((flag) => !flag.includes('web')), '--web_address=0.0.0.0:0']
    const expectRejected = async (folder: string, args: readonly string[]) => {
      const flags = readFlags([...open, ...toFileFlags(folder), ...args], 'server')
      const configuration = await configurationFrom(flags, {}, 'server')()
      await t.rejects(startServer({ configuration, log: createLog('silent') }), {
        name: 'SettingsError',
        message: /is the public default "mx", and 0\.0\.0\.0:0 is reachable from other machines/,
      })
    }
    const folder = makeTempFolder(t, 'first')
    const server = await openServer(t, [
      ...['--store=lmdb', `--data_dir=${join(folder, 'data')}`, '--config_secret_key=file'],
    ])
    t.type(await logIn(server, 'admin', 'mx'), 'string')
    await server.server.close()
    await expectRejected(folder, [])
  },
)

t.test('rejects a password of fewer than 8 characters', async (t) => {
  for (const password of ['mx', '1234567']) {
    const args = [...QUIET_FLAGS, ...toFileFlags(makeTempFolder(t, 'first'))]
    const flags = readFlags([...args, `--admin_password=${password}`], 'server')
    const configuration = await configurationFrom(flags, {}, 'server')()
    await t.rejects(startServer({ configuration, log: createLog('silent') }), {
      name: 'SettingsError',
      message: `admin_password (MX_ADMIN_PASSWORD) must be at least 8 characters, got ${password.length}`,
    })
  }
})

t.test('creates no administrator without a file or terminal for its password', async (t) => {
  const args = ['--profile=local', '--store=memory', '--events=memory', '--registry=memory']
  const flags = readFlags([...QUIET_FLAGS, ...args, '--config_secret_key=memory'], 'server')
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const configuration = await configurationFrom(flags, {}, 'server')()
  const server = await startServer({ configuration, log, canShowPassword: false })
  t.teardown(server.close)
  t.equal(server.adminPassword, undefined)
  t.match(lines.join(''), /account admin not created: .* Set MX_ADMIN_PASSWORD and restart/)
  const reply = await fetch(`http://127.0.0.1:${server.address.port}/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'admin', secret: 'password' }),
  })
  t.equal(reply.status, 400)
})
