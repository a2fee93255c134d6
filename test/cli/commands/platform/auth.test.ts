import { decodeJwt } from 'jose'
import t from 'tap'
import userCommand from '../../../../cli/commands/account/user.ts'
import authCommand from '../../../../cli/commands/platform/auth.ts'
import { openAuthServer } from '../../../fixtures/auth-endpoints.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { runAtTerminal } from '../../../fixtures/terminal.ts'

t.test(
  'deleting the last rule that allows logins asks for confirmation at a terminal',
  async (t) => {
    const { home, proxy, mx, sendRequest } = await openAuthServer(t)
    await mx('login', 'admin', '--password=mx')
    const remove = (answer: string) =>
      runAtTerminal(t, ['auth', 'delete', 'rule', 'default'], {
        ...{ cwd: home, env: { HOME: home, MX_ENV_LOCAL_ADDRESS: proxy }, answer },
      })
    const rejected = await remove('n')
    if (rejected === undefined) return t.comment('script is not installed')
    t.match(rejected, /no rule allows logins[^\n]*\. Continue\? \[y\/N\]/)
    t.match(rejected, 'mx: canceled: nothing was changed')
    t.match((await sendRequest('Rules.List', {})).rules, [{ id: 'default' }])
    t.match(await remove('y'), 'Rule deleted')
    t.same(await sendRequest('Rules.List', {}), { rules: [] }, 'an operator can still log in')
  },
)

const { run, mx } = await openCliServer(t)
const auth = (...args: string[]) => run(authCommand, ...args)

t.test(
  'an account gets tokens with its current secret, and its secret can be changed',
  async (t) => {
    await auth('create', 'account', 'jane', '--secret=first-secret', '--scopes=reports')

    const token = decodeJwt(
      await auth('create', 'token', 'jane', '--secret=first-secret', '--expiry=10m'),
    )
    t.match(token, { sub: 'jane', scopes: ['reports'] })
    t.equal(token.exp! - token.iat!, 600)
    const piped = await mx(
      ['auth', 'create', 'token', 'jane', '--secret', '-', '-o', 'json'],
      'first-secret',
    )
    t.equal(piped.stderr, '')
    t.match(JSON.parse(piped.stdout), { access_token: String, refresh_token: String })

    t.equal(
      await auth('update', 'secret', 'jane', '--new_secret=second-secret'),
      'Secret updated\n',
    )
    await t.rejects(auth('create', 'token', 'jane', '--secret=first-secret'), {
      message: 'Secret not correct',
    })
    const args = ['--username=jane', '--old_password=second-secret', '--new_password=third-secret']
    t.equal(await run(userCommand, 'set', 'password', ...args), 'Password changed\n')
    t.ok(await auth('create', 'token', 'jane', '--secret=third-secret'))

    await t.rejects(auth('create', 'token', 'jane', '--secret=third-secret', '--expiry=soon'), {
      message: '--expiry must be a duration such as 250ms, 30s, 5m, 2h or none, got "soon"',
      status: 2,
    })
    t.match(await mx(['auth', 'create', 'token', 'jane']), {
      code: 2,
      stderr: 'mx: --secret is required without a terminal\n',
    })
  },
)

t.test('create account prints a generated secret, not a provided one', async (t) => {
  const created = await auth('create', 'account', 'joe', '--secret=mine-alone', '-o', 'json')
  t.match(JSON.parse(created), { id: 'joe', secret: undefined })
  t.notMatch(await auth('create', 'account', 'jim', '--secret=mine-alone'), /mine|secret/)
  t.match(await auth('create', 'account', 'ann'), /"secret":"[^"]{20,}"/)
})

t.test('a missing or malformed --resource is rejected with the expected form', async (t) => {
  const missing = { status: 2, message: /^--resource is missing: type:name:endpoint, such as/ }
  await t.rejects(auth('create', 'rule', 'x'), missing)
  await t.rejects(auth('create', 'rule', 'x', '--resource=a:b'), {
    ...{ status: 2, message: /^Invalid resource: a:b, must be/ },
  })
})

t.test('a rule may have a negative priority', async (t) => {
  const args = ['auth', 'create', 'rule', 'low', '--resource=service:x:*', '--priority', '-5']
  t.match(await mx(args), { code: 0, stderr: '' })
  t.match(await auth('list', 'rules'), /^low\t.*\t-5$/m)
})

t.test('a rule that matches no endpoint of a registered service is reported', async (t) => {
  const problem = /^mx: (\/config\/\*|Config\.Rd) matches no endpoint of config, which has Config\./
  const create = (endpoint: string) =>
    mx(['auth', 'create', 'rule', 'x', `--resource=service:config:${endpoint}`, '--priority=-9'])
  t.match(await create('/config/*'), { code: 0, stderr: problem })
  await auth('delete', 'rule', 'x')
  t.match(await create('config.*'), { code: 0, stderr: '' })
  await auth('delete', 'rule', 'x')
  t.match(await mx(['auth', 'test', 'config', 'Config.Rd']), { stderr: problem })
  t.match(await mx(['auth', 'test', 'nowhere', '/a']), { stderr: '' }, 'not registered yet')
})

t.test('lists are printed as YAML with -o yaml; an unknown format exits 2', async (t) => {
  t.match(await auth('list', 'rules', '-o', 'yaml'), /^- id: default$/m)
  await t.rejects(auth('list', 'rules', '-o', 'xml'), {
    message: /^Invalid output: xml, must be text, json or yaml/,
    status: 2,
  })
})
