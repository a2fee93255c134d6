import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  openSession,
  type Session,
  type StreamCall,
  type TokenReply,
  toCredentials,
} from '../../../cli/session/session.ts'
import { writeConfig } from '../../../cli/state/config.ts'
import { readCredentials, writeCredentials } from '../../../cli/state/tokens.ts'
import { type AuthServer, openAuthServer } from '../../fixtures/auth-endpoints.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'
import { asUnprivilegedUser } from '../../fixtures/unprivileged-user.ts'

interface Shell extends AuthServer {
  readonly folder: string
  readonly open: (namespace?: string) => Session
  /** Logs in like `mx login`. */
  readonly logInAs: (id: string, secret: string, namespace?: string) => Promise<void>
}

/** Opens a server, and a home folder for its clients. */
async function openShell(t: Test): Promise<Shell> {
  const server = await openAuthServer(t)
  const home = makeTempFolder(t, 'home')
  process.env['HOME'] = home
  process.env['MX_ENV_LOCAL_ADDRESS'] = server.proxy
  const folder = join(home, '.mx')
  mkdirSync(folder)
  return {
    ...server,
    folder,
    open(namespace) {
      const session = openSession(namespace === undefined ? {} : { namespace })
      t.teardown(session.close)
      return session
    },
    async logInAs(account, secret, namespace = 'mx') {
      const request = { id: account, secret, options: { namespace } }
      const { body } = await server.transports.gateway('auth', 'Auth.Token', request)
      const owner = { address: server.proxy, namespace, account }
      await writeCredentials(owner, toCredentials(body as TokenReply))
      await writeConfig('local.current-user', account)
    },
  }
}

const LIST = ['auth', 'Accounts.List', {}] as const

t.test('without a login, calls are anonymous even if service credentials exist', async (t) => {
  const { sendRequest, folder, open, logInAs } = await openShell(t)
  const local = { id: 'local', type: 'service', scopes: ['service'], secret: 'local-secret' }
  await sendRequest('Auth.Generate', local)
  writeFileSync(join(folder, 'service_credentials'), JSON.stringify(local))
  const rejected = {
    status: 2,
    message: /An account is required \(not logged in to local: mx login\)/,
  }
  await t.rejects(open().call(...LIST), rejected)
  await t.rejects(open().callAnonymously(...LIST), rejected)
  await logInAs('admin', 'mx')
  t.match(await open().call(...LIST), { accounts: [{ id: 'admin' }, { id: 'local' }] })
})

t.test(
  'admin accounts of mx may access all namespaces, other accounts only their own',
  async (t) => {
    const { sendRequest, open, logInAs } = await openShell(t)
    const options = { namespace: 'shop' }
    await sendRequest('Auth.Generate', {
      id: 'ann',
      secret: 'ann-secret',
      scopes: ['admin'],
      options,
    })
    await logInAs('admin', 'mx')
    t.match(await open('shop').call(...LIST), { accounts: [{ id: 'ann' }] })
    await writeConfig('namespaces.local.current', 'shop')
    t.match(await open().call(...LIST), { accounts: [{ id: 'ann' }] })
    await logInAs('ann', 'ann-secret', 'shop')
    t.match(await open().call(...LIST), { accounts: [{ id: 'ann' }] })
    await t.rejects(open('mx').call(...LIST), { message: /Access denied to namespace/ })
  },
)

t.test('concurrent commands refresh the token once and share it', async (t) => {
  const { open, logInAs } = await openShell(t)
  await logInAs('admin', 'mx')
  const { owner } = open()
  const credentials = readCredentials(owner)!
  await writeCredentials(owner, { ...credentials, expiry: 0 })
  const received = await Promise.all(Array.from({ length: 5 }, () => open().token()))
  t.equal(new Set(received).size, 1)
  t.not(received[0], credentials.accessToken)
  t.equal(received[0], readCredentials(owner)?.accessToken)
})

t.test('a rejected token is refreshed', async (t) => {
  const { sendRequest, open, logInAs } = await openShell(t)
  await logInAs('admin', 'mx')
  await sendRequest('Auth.RotateKey', { drop: true })
  const session = open()
  t.match(await session.call(...LIST), { accounts: [{ id: 'admin' }] })
  t.match(await session.call(...LIST), { accounts: [{ id: 'admin' }] })
})

t.test('a stream with a rejected token restarts with a new one', async (t) => {
  const { sendRequest, open, logInAs } = await openShell(t)
  await logInAs('admin', 'mx')
  await open().call('events', 'Stream.Publish', { topic: 'orders', payload: 'b25l' })
  await sendRequest('Auth.RotateKey', { drop: true })
  const session = open()
  const events = session.stream('events', 'Stream.Consume', { topic: 'orders', sequence: 1 })
  t.match(await events.next(), { value: { payload: 'b25l' } })
  await events.return()
})

t.test('a running stream continues with a new token only if it can resume', async (t) => {
  const { sendRequest, open, logInAs } = await openShell(t)
  await logInAs('admin', 'mx')
  const publish = (payload: string) =>
    open().call('events', 'Stream.Publish', { topic: 'orders', payload })
  const session = open()
  const follow = (options?: StreamCall) =>
    session.stream('events', 'Stream.Consume', { topic: 'orders', sequence: 1 }, options)
  await publish('b25l')
  const resumed = follow({ resume: () => ({ topic: 'orders', sequence: 2 }) })
  const ended = follow()
  for (const events of [resumed, ended])
    t.match(await events.next(), { value: { payload: 'b25l' } })
  const [next, failed] = [resumed.next(), ended.next()]
  await sendRequest('Auth.RotateKey', { drop: true })
  await t.rejects(failed, {
    status: 2,
    message: /token expired\. Run the command again/,
  })
  await publish('dHdv')
  t.match(await next, { value: { payload: 'dHdv' } })
  await resumed.return()
})

t.test(
  'if a server also rejects the new token, the error names the server and no further token is requested',
  async (t) => {
    const { open, logInAs } = await openShell(t)
    await logInAs('admin', 'mx')
    const received: (string | undefined)[] = []
    // Acts as a linked server with another signing key.
    const server = createServer((request, response) => {
      received.push(request.headers.authorization)
      const error = {
        Id: 'far',
        Code: 401,
        Detail: 'access token not accepted',
        Status: 'Unauthorized',
      }
      response.writeHead(401, {
        'content-type': 'application/json',
        'www-authenticate': 'Bearer error="invalid_token"',
      })
      response.end(JSON.stringify(error))
    }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const rejected = { status: 2, message: /the server of far rejects tokens from local/ }
    const session = open()
    await t.rejects(session.call('far', 'Far.Call', {}, { address }), rejected)
    t.equal(new Set(received.splice(0)).size, 2, 'the first token and one new token')
    const resume = () => ({})
    for (const options of [{ address }, { address, resume }]) {
      await t.rejects(session.stream('far', 'Far.Stream', {}, options).next(), rejected)
      t.equal(new Set(received.splice(0)).size, 2)
    }
  },
)

t.test('a revoked login is deleted and reported', async (t) => {
  const { sendRequest, open, logInAs } = await openShell(t)
  await sendRequest('Auth.Generate', { id: 'root', secret: 'root-secret', scopes: ['admin'] })
  await logInAs('root', 'root-secret')
  await sendRequest('Auth.Revoke', { id: 'root' })
  const session = open()
  await t.rejects(session.call(...LIST), { status: 2, message: /root is not logged in: mx login/ })
  t.equal(readCredentials(session.owner), undefined)
})

t.test(
  'if tokens cannot be written, a valid token is used and an expired one is an error',
  async (t) => {
    const { folder, open, logInAs } = await openShell(t)
    await logInAs('admin', 'mx')
    const { owner } = open()
    const credentials = readCredentials(owner)!
    await writeCredentials(owner, { ...credentials, expiry: Date.now() / 1000 + 30 })
    await asUnprivilegedUser(t, folder, async () => {
      const session = open()
      t.equal(await session.token(), credentials.accessToken)
      t.match(await session.call(...LIST), { accounts: [{ id: 'admin' }] })
    })
    await writeCredentials(owner, { ...credentials, expiry: 0 })
    await asUnprivilegedUser(t, folder, () =>
      t.rejects(open().token(), {
        message:
          /tokens cannot be written: EACCES.*; make it writable, or set HOME to a writable folder$/,
      }),
    )
    t.equal(
      readCredentials(owner)?.refreshToken,
      credentials.refreshToken,
      'the refresh token was not used',
    )
  },
)

t.test(
  'if the refresh fails, a valid token is used and retained, an expired one is deleted',
  async (t) => {
    const { open, logInAs } = await openShell(t)
    await logInAs('admin', 'mx')
    const { owner } = open()
    const credentials = readCredentials(owner)!
    await writeCredentials(owner, {
      ...{ ...credentials, refreshToken: 'unknown' },
      expiry: Date.now() / 1000 + 30,
    })
    t.equal(await open().token(), credentials.accessToken)
    t.equal(readCredentials(owner)?.accessToken, credentials.accessToken)
    await writeCredentials(owner, { ...credentials, refreshToken: 'unknown', expiry: 0 })
    t.equal(await open().token(), undefined)
    t.equal(readCredentials(owner), undefined)
  },
)
