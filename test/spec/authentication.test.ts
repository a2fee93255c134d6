// Specification: the points of "Authentication", and "Resources": rules and accounts.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type AuthEndpoint, type AuthServer, openAuthServer } from '../fixtures/auth-endpoints.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const EVERYTHING = { type: '*', name: '*', endpoint: '*' }
const WAIT_MS = 10_000
/** Rule that allows anonymous logins (point 5). */
const LOGIN = {
  id: 'login',
  scope: '',
  access: 'GRANTED',
  resource: { type: 'service', name: 'auth', endpoint: '*' },
}

function toRule(id: string, scope: string, resource: object, overrides: object = {}) {
  return { rule: { id, scope, access: 'GRANTED', resource, ...overrides } }
}

/** Repeats a call until its code is `code`, and returns the elapsed time. */
async function waitFor(code: number, call: () => ReturnType<AuthEndpoint>): Promise<number> {
  const startedMs = performance.now()
  for (;;) {
    const received = (await call()).code
    const tookMs = performance.now() - startedMs
    if (received === code) return tookMs
    if (tookMs > WAIT_MS) throw new Error(`still ${received}, expected ${code}`)
  }
}

/** Opens a server that requires a login for every call. */
async function openLocked(t: Test): Promise<AuthServer> {
  const server = await openAuthServer(t)
  await server.sendRequest('Rules.Create', { rule: LOGIN })
  await server.sendRequest('Rules.Create', toRule('onlyloggedin', '*', EVERYTHING))
  await server.sendRequest('Rules.Delete', { id: 'default' })
  for (const call of Object.values(server.transports))
    await waitFor(401, () => call('helloworld', 'Helloworld.Call', {}))
  return server
}

t.test(
  '1. Callers present an access token in the header Authorization: Bearer <ACCESS_TOKEN>.',
  async (t) => {
    const { transports, admin } = await openLocked(t)
    for (const [name, call] of Object.entries(transports)) {
      const { code, body } = await call('helloworld', 'Helloworld.Call', {}, admin)
      t.same([code, body], [200, { account: 'admin', namespace: '' }], name)
      const rejected = await call('helloworld', 'Helloworld.Call', {}, `${admin}x`)
      t.equal(rejected.code, 401, `${name}: an invalid token`)
    }
  },
)

t.test(
  '2. Tokens are obtained through login (user token prints one). Tokens have a limited lifetime and must be re-issued.',
  async (t) => {
    const { transports, mx } = await openLocked(t)
    t.match(await mx('user', 'token'), {
      code: 2,
      stderr: /not logged in to local\. Log in/,
    })
    t.match(await mx('login', 'admin', '--password', 'mx'), {
      code: 0,
      stdout: 'Successfully logged in.\n',
    })
    const { stdout } = await mx('user', 'token')
    const token = stdout.trim()
    const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
    t.equal(exp - iat, 900)
    for (const call of Object.values(transports))
      t.equal((await call('helloworld', 'Helloworld.Call', {}, token)).code, 200)
    const { body } = await transports.gateway('auth', 'Auth.Token', {
      id: 'admin',
      secret: 'mx',
      token_expiry: 5,
    })
    const { access_token, refresh_token, created, expiry } = body.token
    t.equal(expiry - created, 5)
    const repeated = await transports.gateway('auth', 'Auth.Token', { refresh_token })
    t.equal(repeated.code, 200)
    t.not(repeated.body.token.access_token, access_token)
    await mx('logout')
    t.match(await mx('user', 'token'), { code: 2 })
  },
)

t.test(
  '3. a rule with scope <public> applies to callers without a token, scope * applies to any logged-in account, and a named scope applies to accounts holding it',
  async (t) => {
    const { sendRequest, transports, logIn } = await openAuthServer(t)
    await sendRequest('Rules.Create', { rule: LOGIN })
    for (const [id, scopes] of [
      ['ann', ['writer']],
      ['bob', []],
    ] as const)
      await sendRequest('Auth.Generate', { id, scopes, secret: `${id}-secret` })
    const [ann, bob] = [await logIn('ann', 'ann-secret'), await logIn('bob', 'bob-secret')]
    const resource = { type: 'service', name: 'helloworld', endpoint: '*' }
    const callers = { anonymous: undefined, bob, ann }
    const cases: [scope: string, granted: string[]][] = [
      ['', ['anonymous', 'bob', 'ann']],
      ['*', ['bob', 'ann']],
      ['writer', ['ann']],
      ['reader', []],
    ]
    await sendRequest('Rules.Create', toRule('admins', 'admin', EVERYTHING))
    await sendRequest('Rules.Delete', { id: 'default' })
    for (const [scope, granted] of cases) {
      await sendRequest('Rules.Create', toRule('r', scope, resource))
      for (const [transport, call] of Object.entries(transports))
        for (const [caller, token] of Object.entries(callers)) {
          const expected = granted.includes(caller) ? 200 : 401
          await waitFor(expected, () => call('helloworld', 'Helloworld.Call', {}, token))
          t.pass(`scope "${scope}", ${caller}, ${transport}: ${expected}`)
        }
      await sendRequest('Rules.Delete', { id: 'r' })
      for (const call of Object.values(transports))
        await waitFor(401, () => call('helloworld', 'Helloworld.Call', {}, ann))
    }
  },
)

t.test(
  '4. The default rule makes every service callable by anyone. Replacing it with a rule of scope * and resource *:*:* makes services callable only with a token.',
  async (t) => {
    const { transports, mx } = await openAuthServer(t)
    for (const [name, call] of Object.entries(transports))
      t.equal((await call('helloworld', 'Helloworld.Call', {})).code, 200, name)
    await mx('login', 'admin', '--password=mx')
    t.match(await mx('auth', 'list', 'rules'), {
      code: 0,
      stdout:
        /^ID\t+Scope\t+Access\t+Resource\t+Priority\ndefault\t+<public>\t+GRANTED\t+\*:\*:\*\t+0\n$/,
    })
    const created = { code: 0, stdout: 'Rule created\n' }
    t.match(
      await mx('auth', 'create', 'rule', '--scope=*', '--resource=*:*:*', 'onlyloggedin'),
      created,
    )
    t.match(await mx('auth', 'create', 'rule', '--resource=service:auth:*', 'login'), created)
    t.match(await mx('auth', 'delete', 'rule', 'default'), { code: 0, stdout: 'Rule deleted\n' })
    for (const [name, call] of Object.entries(transports)) {
      const tookMs = await waitFor(401, () => call('helloworld', 'Helloworld.Call', {}))
      t.ok(tookMs < 1000, `${name}: within a second`)
    }
    // The CLI is allowed with the token of its login, and denied without it.
    t.match(await mx('auth', 'list', 'rules'), { code: 0, stdout: /^onlyloggedin\t/m })
    await mx('logout')
    t.match(await mx('auth', 'list', 'rules'), {
      code: 2,
      stderr: /Not authorized to perform this request/,
    })
  },
)

t.test(
  '5. A rule for resource service:auth:* with scope <public> is required so that login still works once the default rule is deleted.',
  async (t) => {
    const { sendRequest, transports, mx } = await openAuthServer(t)
    await mx('login', 'admin', '--password=mx')
    await sendRequest('Rules.Create', toRule('onlyloggedin', '*', EVERYTHING))
    t.match(await mx('auth', 'delete', 'rule', 'default'), {
      code: 127,
      stderr: /no rule allows logins after this change/,
    })
    await sendRequest('Rules.Create', { rule: LOGIN })
    t.match(await mx('auth', 'delete', 'rule', 'default'), { code: 0 })
    const login = { id: 'jane', secret: 'a long secret' }
    await sendRequest('Auth.Generate', login)
    await waitFor(401, () => transports.gateway('helloworld', 'Helloworld.Call', {}))
    for (const [name, call] of Object.entries(transports))
      t.equal((await call('auth', 'Auth.Token', login)).code, 200, name)
    await sendRequest('Rules.Delete', { id: 'login', force: true })
    for (const call of Object.values(transports))
      await waitFor(401, () => call('auth', 'Auth.Token', login))
    const operator = await transports.gateway('auth', 'Auth.Token', { id: 'admin', secret: 'mx' })
    t.equal(operator.code, 200, 'operators can still log in (reference 15.32)')
  },
)

t.test(
  '6. A denied call returns HTTP 401 with the error body {Id, Code, Detail, Status}; Detail names the service and handler method called.',
  async (t) => {
    const { sendRequest, transports, logIn } = await openLocked(t)
    await sendRequest('Auth.Generate', { id: 'ann', secret: 'ann-secret' })
    const ann = await logIn('ann', 'ann-secret')
    await sendRequest('Rules.Create', {
      rule: {
        id: 'not-ann',
        scope: '*',
        access: 'DENIED',
        resource: { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' },
        priority: 1,
      },
    })
    for (const [name, call] of Object.entries(transports)) {
      await waitFor(401, () => call('helloworld', 'Helloworld.Call', {}, ann))
      for (const token of [undefined, ann]) {
        const { body } = await call('helloworld', 'Helloworld.Call', {}, token)
        const expected = {
          Id: 'helloworld',
          Code: 401,
          Detail: 'Unauthorized call made to helloworld:Helloworld.Call',
          Status: 'Unauthorized',
        }
        t.same(body, expected, `${name}, ${token === undefined ? 'anonymous' : 'ann'}`)
      }
    }
  },
)

t.test('7. Services load rules periodically and check access per request.', async (t) => {
  const { sendRequest, transports, admin } = await openAuthServer(t)
  const resource = { type: 'service', name: 'helloworld', endpoint: '*' }
  for (let round = 0; round < 3; round++) {
    await sendRequest('Rules.Create', toRule('no', '', resource, { access: 'DENIED', priority: 1 }))
    for (const [name, call] of Object.entries(transports)) {
      const tookMs = await waitFor(401, () => call('helloworld', 'Helloworld.Call', {}, admin))
      t.ok(tookMs < 1000, `${name}: a change is in force within a second`)
    }
    await sendRequest('Rules.Delete', { id: 'no' })
    for (const call of Object.values(transports))
      await waitFor(200, () => call('helloworld', 'Helloworld.Call', {}))
  }
})

t.test(
  '8. Each environment has its own accounts; a fresh local server has the admin account.',
  async (t) => {
    const [one, other] = [await openAuthServer(t), await openAuthServer(t)]
    await one.sendRequest('Auth.Generate', { id: 'ann', secret: 'ann-secret' })
    t.ok(await one.logIn('ann', 'ann-secret'))
    await t.rejects(
      other.logIn('ann', 'ann-secret'),
      /Secret not correct, or no account with this ID/,
    )
    const rejected = await other.transports.gateway('helloworld', 'Helloworld.Call', {}, one.admin)
    t.equal(rejected.code, 401, 'tokens of another environment are rejected')
    const { accounts } = await other.sendRequest('Accounts.List', {})
    t.match(
      accounts.filter(({ type }: { type: string }) => type === 'user'),
      [{ id: 'admin', name: 'admin', scopes: ['admin'], issuer: 'mx' }],
    )
    t.notMatch(JSON.stringify(accounts), /secret|hash/)
    await other.mx('login', 'admin', '--password=mx')
    t.match(await other.mx('auth', 'list', 'accounts'), {
      code: 0,
      stdout: /^ID\t+Name\t+Scopes\t+Metadata\nadmin\t+admin\t+admin\t+/,
    })
  },
)

t.test('9. The namespace is chosen with the Mx-Namespace header.', async (t) => {
  const { sendRequest, transports, admin, logIn } = await openAuthServer(t)
  for (const [name, call] of Object.entries(transports)) {
    const { body } = await call('helloworld', 'Helloworld.Call', {}, undefined, 'acme')
    t.same(body, { account: '', namespace: 'acme' }, name)
  }
  const options = { namespace: 'acme' }
  await sendRequest('Auth.Generate', { id: 'ann', secret: 'ann-secret', options })
  await t.rejects(logIn('ann', 'ann-secret'), /Secret not correct/)
  const ann = await logIn('ann', 'ann-secret', 'acme')
  // Rules of mx apply to its services in every namespace of a caller.
  await sendRequest('Rules.Create', { rule: LOGIN })
  await sendRequest('Rules.Create', toRule('onlyloggedin', '*', EVERYTHING))
  await sendRequest('Rules.Delete', { id: 'default' })
  for (const [name, call] of Object.entries(transports)) {
    await waitFor(401, () => call('helloworld', 'Helloworld.Call', {}))
    for (const token of [undefined, ann])
      for (const namespace of [undefined, 'acme', 'unknown'])
        t.equal(
          (await call('helloworld', 'Helloworld.Call', {}, token, namespace)).code,
          401,
          `${name}, ${token === undefined ? 'anonymous' : 'ann'}, ${namespace}`,
        )
    t.equal((await call('helloworld', 'Helloworld.Call', {}, admin)).code, 200, `${name}, admin`)
  }
})

t.test(
  '10. if absent, the server generates ~/.mx/config_secret_key, and an admin password that logs in',
  async (t) => {
    const home = makeTempFolder(t, 'home')
    const server = await startServerProcess(t, [], { home })
    t.ok(readFileSync(join(home, '.mx/config_secret_key'), 'utf8'))
    const secret = readFileSync(join(home, '.mx/admin_password'), 'utf8').trim()
    const reply = await fetch(`${server.gateway}/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'admin', secret }),
    })
    t.equal(reply.status, 200)
  },
)

t.test('11. Token issuance request and response format: as in reference 2.1.', async (t) => {
  const { transports } = await openAuthServer(t)
  const form = {
    access_token: /^[\w-]+\.[\w-]+\.[\w-]+$/,
    refresh_token: /^[\w-]{68}$/,
    created: Number,
    expiry: Number,
  }
  for (const [name, call] of Object.entries(transports)) {
    const sendRequest = (request: object) => call('auth', 'Auth.Token', request)
    const { code, body } = await sendRequest({ id: 'admin', secret: 'mx', token_expiry: 60 })
    t.equal(code, 200, name)
    t.match(body.token, form)
    t.same(Object.keys(body.token).sort(), Object.keys(form).sort())
    t.equal(body.token.expiry - body.token.created, 60)
    t.match(await sendRequest({ refresh_token: body.token.refresh_token }), {
      code: 200,
      body: { token: form },
    })
    t.match(await sendRequest({ id: 'admin' }), {
      code: 400,
      body: { Detail: 'Credentials or a refresh token required' },
    })
  }
})

t.test('12. Meaning of each part of the resource string: type, name and endpoint.', async (t) => {
  const { sendRequest, transports } = await openAuthServer(t)
  await sendRequest('Rules.Create', { rule: LOGIN })
  await sendRequest('Rules.Create', toRule('admins', 'admin', EVERYTHING))
  await sendRequest('Rules.Delete', { id: 'default' })
  const called = { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' }
  const cases: [resource: string, granted: boolean][] = [
    ['service:helloworld:Helloworld.Call', true],
    ['service:HelloWorld:helloworld.call', true],
    ['*:helloworld:Helloworld.*', true],
    ['service:*:*', true],
    ['service:helloworld:Helloworld.Stream', false],
    ['service:hello:*', false],
    ['topic:helloworld:*', false],
  ]
  const expectEverywhere = async (code: number) => {
    for (const call of Object.values(transports))
      await waitFor(code, () => call('helloworld', 'Helloworld.Call', {}))
  }
  for (const [text, granted] of cases) {
    const [type, name, endpoint] = text.split(':')
    await expectEverywhere(401)
    await sendRequest('Rules.Create', toRule('r', '', { type, name, endpoint }))
    t.match(await sendRequest('Rules.Test', { resource: called }), { granted }, text)
    if (granted) await expectEverywhere(200)
    await sendRequest('Rules.Delete', { id: 'r' })
  }
})

t.test(
  '13. How conflicting rules are ordered by Priority: the highest first; of the same, denying rules first, then by id.',
  async (t) => {
    const { sendRequest, transports } = await openAuthServer(t)
    const resource = { type: 'service', name: 'helloworld', endpoint: '*' }
    const called = { ...resource, endpoint: 'Helloworld.Call' }
    const decide = async (code: number, id: string) => {
      for (const call of Object.values(transports))
        await waitFor(code, () => call('helloworld', 'Helloworld.Call', {}))
      t.match(await sendRequest('Rules.Test', { resource: called }), {
        granted: code === 200,
        rule: { id },
      })
    }
    await decide(200, 'default')
    await sendRequest('Rules.Create', toRule('z', '', resource, { access: 'DENIED' }))
    await decide(401, 'z')
    for (const id of ['c', 'b'])
      await sendRequest('Rules.Create', toRule(id, '', resource, { priority: 1 }))
    await decide(200, 'b')
    await sendRequest('Rules.Create', toRule('x', '', resource, { access: 'DENIED', priority: 2 }))
    await decide(401, 'x')
  },
)
