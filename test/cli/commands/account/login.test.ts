import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import loginCommand from '../../../../cli/commands/account/login.ts'
import { readConfig } from '../../../../cli/state/config.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { run, mx, post, home } = await openCliServer(t)
const login = (...args: string[]) => run(loginCommand, ...args)

t.test(
  'a wrong password exits 2 with advice and the error id, and retains the current login',
  async (t) => {
    t.match(await mx(['login', 'admin', '--password=guess']), {
      ...{ code: 2, stdout: '' },
      stderr:
        "mx: Secret not correct, or no account with this ID. 'mx auth reset' sets a new password while the server is stopped (Id auth.Auth.Token)\n",
    })
    const file = join(home, '.mx/admin_password')
    writeFileSync(file, 'mx\n')
    t.teardown(() => rmSync(file))
    await t.rejects(login('admin', '--password=guess'), {
      message: new RegExp(`with this ID\\. The initial password is in ${file}\\. 'mx auth reset' `),
    })
    const rejected = { status: 2, message: /^Secret not correct/ }
    await t.rejects(login('missing', '--password=x'), {
      ...rejected,
      message: /An administrator can reset it: mx auth update secret missing$/,
    })
    t.equal(readConfig().get('local.current-user'), 'admin', 'the current login is unchanged')
  },
)

t.test('a wrong password in another namespace names the namespace', async (t) => {
  await t.rejects(login('admin', '--password=mx', '--namespace=shop'), {
    message: /with this ID in the namespace shop \(select another with --namespace\)\. An admin/,
    status: 2,
  })
})

t.test('a login prints a confirmation, or a JSON document with -o json', async (t) => {
  t.equal(await login('admin', '--password=mx'), 'Successfully logged in.\n')
  t.same(JSON.parse(await login('admin', '--password=mx', '-o', 'json')), {
    ...{ account: 'admin', namespace: 'mx', environment: 'local' },
  })
})

t.test('an empty user name or password is rejected before any request', async (t) => {
  await t.rejects(login('', '--password=x'), { status: 2, message: /^the user name is empty\./ })
  await t.rejects(login('admin', '--password='), {
    status: 2,
    message: "the password is empty. See 'mx login --help'",
  })
  t.match(await mx(['login', 'admin', '--password_stdin'], '\n'), {
    ...{ code: 2, stderr: /^mx: the password is empty/ },
  })
})

t.test('a password from standard input loses its line feed', async (t) => {
  t.match(await mx(['login', 'admin', '--password_stdin'], 'mx\n'), { code: 0, stderr: '' })
  t.match(await mx(['login', 'admin', '--password', '-'], 'mx\n'), { code: 0, stderr: '' })
})

t.test(
  'contradictory arguments are rejected, and nothing is prompted without a terminal',
  async (t) => {
    await t.rejects(login('a', '--username=b'), { message: /^expected one account, got b, a\./ })
    await t.rejects(login('a', '--password=b', '--password_stdin'), {
      message: /--password and --password_stdin cannot be combined/,
    })
    t.match(await mx(['login']), {
      code: 2,
      stderr: 'mx: --username is required without a terminal\n',
    })
    t.match(await mx(['login', 'admin']), {
      code: 2,
      stderr: /^mx: --password or --password_stdin is required/,
    })
  },
)

t.test('rules that deny logins are reported; operators can still log in', async (t) => {
  const rule = {
    ...{ id: 'closed', scope: '', access: 'DENIED', priority: 10 },
    resource: { type: 'service', name: 'auth', endpoint: '*' },
  }
  const jane = { id: 'jane', secret: 'jane-jane' }
  t.equal((await post('/auth/generate', jane)).status, 200)
  t.equal((await post('/auth/rules/create', { rule, force: true })).status, 200)
  await t.rejects(login('jane', '--password=jane-jane'), {
    message: /^Not authorized to perform this request: Unauthorized call made to auth:Auth\.Token/,
    status: 2,
  })
  t.equal(await login('admin', '--password=mx'), 'Successfully logged in.\n')
})
