import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import type { Rule } from '../../core/contracts/auth.ts'
import type { CreateListener } from '../../core/listener/listener.ts'
import plugin from '../../plugins/access/auth.ts'
import { buildPlugin, createTestEnv } from '../../sdk/testing.ts'
import { createAccount, createRule } from '../fixtures/auth-source.ts'
import { openAuthorizer } from '../fixtures/authorizer.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { createGreeter } from '../fixtures/greeter.ts'
import { listen } from '../fixtures/listen.ts'
import { openMxService } from '../fixtures/mx-service.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import { openRpcGateway } from '../fixtures/rpc-gateway.ts'
import { makeService } from '../fixtures/services.ts'
import { listTokenAttacks } from '../fixtures/token-attacks.ts'
import {
  connectWebSocket,
  getClose,
  nextMessage,
  rejectedWebSocket,
} from '../fixtures/web-gateway.ts'

const JANE = createAccount({ id: 'jane', scopes: ['staff'] })
const JOE = createAccount({ id: 'joe', issuer: 'acme', scopes: ['staff'] })
const PUBLIC = createRule()
const MEMBERS = createRule({ id: 'members', scope: '*' })
/** Maximum delay of a rule change. */
const CHANGE_MS = 1000

/** A plain HTTP backend: returns the request as JSON; `/site/stream` never ends; WebSockets echo. */
async function openSite(t: Test) {
  const received: Record<string, unknown>[] = []
  const server = createServer((req, res) => {
    received.push({ url: req.url, ...req.headers })
    if (req.url === '/site/stream') return void res.write('one')
    res.end(JSON.stringify(req.headers))
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, req) => {
    received.push({ url: req.url, ...req.headers })
    socket.on('message', (data) => socket.send(String(data)))
  })
  const port = await listen(t, server)
  return { received, entry: makeService('go.mx.api.site', [`127.0.0.1:${port}`]) }
}

async function open(
  t: Test,
  listener: CreateListener,
  { rules = [] as readonly Rule[], handler = 'meta', options = {} } = {},
) {
  const authorizer = await openAuthorizer(t, ...rules)
  const env = { ...createTestEnv(), nowMs: Date.now, authorizer: authorizer.authorizer }
  const service = await openMxService(t, createGreeter())
  const site = await openSite(t)
  const gateway = await openRpcGateway(t, [service.entry, site.entry], {
    listener,
    flags: [`--handler=${handler}`],
    plugins: [buildPlugin(plugin, options, env)],
  })
  return { ...authorizer, service, site, ...gateway }
}

const authorize = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
const EXPLICIT = JSON.stringify({
  service: 'go.mx.api.greeter',
  method: 'Greeter.Hello',
  request: { name: 'John' },
})

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(`${name}: every handler allows calls granted by the rules`, async (t) => {
    const rows: [string, string, string, RequestInit?][] = [
      ['meta', '/greeter/hello?name=John', 'service:go.mx.api.greeter:Greeter.Hello'],
      ['rpc', '/greeter/hello?name=John', 'service:go.mx.api.greeter:Greeter.Hello'],
      [
        'rpc',
        '/rpc',
        'service:go.mx.api.greeter:Greeter.Hello',
        { method: 'POST', body: EXPLICIT },
      ],
      ['proxy', '/rpc', 'service:go.mx.api.greeter:Greeter.*', { method: 'POST', body: EXPLICIT }],
      ['proxy', '/site/a?b=c', 'service:go.mx.api.site:/site/*'],
      ['web', '/site/a', 'service:go.mx.api.site:/site/a'],
      ['event', '/orders/created', 'topic:go.mx.api.orders:created', { method: 'POST', body: 'x' }],
    ]
    for (const [handler, path, resource, init = {}] of rows) {
      const staffRule = createRule({ id: 'own', scope: 'staff', resource })
      const never = createRule({ id: 'never', scope: 'none', resource })
      const except = createRule({ id: 'except', access: 'DENIED', resource, scope: '*' })
      const table: [readonly Rule[], anyone: boolean, jane: boolean, joe: boolean][] = [
        [[PUBLIC], true, true, true],
        [[MEMBERS], false, true, false],
        [[staffRule], false, true, false],
        [[never], false, false, false],
        [[PUBLIC, except], true, false, true],
        [[createRule({ scope: '+' })], false, true, true],
      ]
      const { origin, source, authorizer, issue } = await open(t, listener, { handler })
      const tokens = [undefined, await issue(JANE), await issue(JOE)]
      for (const [rules, ...granted] of table) {
        const changed = new Promise<void>((resolve) => {
          const unsubscribe = authorizer.onChange(() => {
            unsubscribe()
            resolve()
          })
        })
        source.setRules('mx', ...rules)
        await changed
        for (const [i, token] of tokens.entries()) {
          const headers = {
            'content-type': 'application/json',
            ...(token === undefined ? {} : authorize(token)),
          }
          const reply = await fetch(origin + path, { ...init, headers })
          const description = `${handler} ${path} ${rules.map(({ id }) => id)} ${i}`
          t.equal(reply.status, granted[i] ? 200 : 401, description)
          const text = await reply.text()
          if (!granted[i]) {
            const [, service] = resource.split(':')
            t.match(JSON.parse(text), { Id: service, Code: 401, Status: 'Unauthorized' })
            t.match(text, `Unauthorized call made to ${service}:`)
          }
        }
      }
    }
  })

  t.test(
    `${name}: authorizes proxied requests by path, with any resolver and handler`,
    async (t) => {
      const deny = createRule({
        id: 'no',
        access: 'DENIED',
        resource: 'service:go.mx.api.site:/site/admin/*',
      })
      for (const flags of [['--handler=proxy', '--resolver=rpc'], ['--handler=web'], []]) {
        const { authorizer } = await openAuthorizer(t, PUBLIC, deny)
        const env = { ...createTestEnv(), nowMs: Date.now, authorizer }
        const { entry } = await openSite(t)
        const site = { ...entry, metadata: { handler: 'web' } }
        const { origin } = await openRpcGateway(t, [site], {
          ...{ listener, flags, plugins: [buildPlugin(plugin, {}, env)] },
        })
        const sendRequest = async (path: string): Promise<number> =>
          (await fetch(origin + path)).status
        t.equal(await sendRequest('/site/public/x'), 200, flags.join())
        for (const path of ['/site/admin/x', '/site/%61dmin/x', '/site/admin;a=b/x'])
          t.not(await sendRequest(path), 200, `${flags} ${path}`)
        t.equal(await sendRequest('/site/admin/x'), 401, flags.join())
      }
    },
  )

  t.test(`${name}: rejects invalid tokens`, async (t) => {
    const { port, source, service, faults } = await open(t, listener)
    const { validToken, attacks } = listTokenAttacks(source.key, Math.floor(Date.now() / 1000))
    const sendRequest = async (token: string): Promise<string> => {
      const client = new RawClient(port)
      client.send(
        `GET /greeter/hello?name=a HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      )
      await client.waitUntil(({ closed }) => closed)
      return client.text
    }
    t.match(await sendRequest(validToken), /^HTTP\/1.1 200/)
    for (const [description, token] of Object.entries(attacks)) {
      const text = await sendRequest(token)
      t.match(text, /^HTTP\/1.1 4(?:01|00) /, description)
      t.notMatch(text, /at .*[.]ts/)
    }
    t.equal(service.calls.length, 1)
    t.strictSame(faults, [])
  })

  t.test(`${name}: ignores identity headers of clients`, async (t) => {
    const { port, service, site } = await open(t, listener)
    const forged = JSON.stringify(createAccount({ id: 'admin', scopes: ['admin'] }))
    const names = [
      'mx-account',
      'Mx-Account',
      'MX-ACCOUNT',
      'mx_account',
      'Mx_Account',
      'mx-address',
    ]
    const fields = names.map((field) => `${field}: ${forged}\r\n`).join('')
    for (const path of ['/greeter/context', '/site/a']) {
      const client = new RawClient(port)
      client.send(
        `GET ${path} HTTP/1.1\r\nHost: a.test\r\n${fields}${fields}Connection: close, mx-account\r\n\r\n`,
      )
      await client.waitUntil(({ closed }) => closed)
      t.match(client.text, /^HTTP\/1.1 200/)
      t.notMatch(client.text, 'admin', path)
    }
    t.notMatch(service.calls[0]?.metadata, /account|address/i)
    t.notMatch(JSON.stringify(site.received), 'admin')
  })

  t.test(`${name}: sends the account to services but not to proxied backends`, async (t) => {
    const { origin, issue, site } = await open(t, listener, { handler: 'meta' })
    const token = await issue(JANE)
    const headers = { ...authorize(token), cookie: 'a=b' }
    const { fields } = (await (await fetch(`${origin}/greeter/context`, { headers })).json()) as {
      fields: Record<string, string[]>
    }
    t.same(JSON.parse(fields['mx-account']![0]!), JANE)
    t.same(fields['authorization'], [`Bearer ${token}`])
    const web = await open(t, listener, { handler: 'web' })
    const other = await web.issue(JANE)
    await (await fetch(`${web.origin}/site/a`, { headers: authorize(other) })).text()
    const socket = await connectWebSocket(t, web.port, [], {
      path: '/site/socket',
      headers: { ...authorize(other), cookie: 'a=b' },
    })
    socket.close()
    t.equal(web.site.received.length, 2)
    for (const fields of web.site.received)
      t.notMatch(JSON.stringify(fields), /mx-account|authorization/)
    t.equal(web.site.received[1]!['cookie'], 'a=b')
    t.equal(site.received.length, 0)
  })

  t.test(`${name}: authorizes a WebSocket before it is opened`, async (t) => {
    for (const [handler, path] of [
      ['rpc', '/greeter/chat'],
      ['web', '/site/socket'],
    ] as const) {
      const { port, issue, site } = await open(t, listener, { handler, rules: [MEMBERS] })
      const rejection = await rejectedWebSocket(port, { path })
      t.equal(rejection.status, 401)
      t.equal(rejection.headers['www-authenticate'], 'Bearer')
      t.equal(site.received.length, 0)
      const headers = authorize(await issue(JANE))
      const socket = await connectWebSocket(t, port, [], { path, headers })
      const response = nextMessage(socket)
      socket.send('{"name":"John"}')
      t.match(await response, 'John')
    }
  })

  for (const [description, action] of Object.entries({
    'a change of rules': (opened: Awaited<ReturnType<typeof open>>) =>
      opened.source.setRules('mx', createRule({ scope: 'admin' })),
    'a revocation': (opened: Awaited<ReturnType<typeof open>>) => opened.source.revoke('it'),
  })) {
    t.test(`${name}: ${description} ends streams and WebSockets within a second`, async (t) => {
      const opened = await open(t, listener, { handler: 'rpc', rules: [MEMBERS] })
      const web = await open(t, listener, { handler: 'web', rules: [MEMBERS] })
      const token = await opened.source.issue(JANE, { id: 'it' })
      const webToken = await web.source.issue(JANE, { id: 'it' })
      const headers = authorize(token)
      const lines = await fetch(`${opened.origin}/greeter/quiet`, { headers })
      const events = await fetch(`${opened.origin}/greeter/quiet`, {
        headers: { ...headers, accept: 'text/event-stream' },
      })
      const call = await connectWebSocket(t, opened.port, [], { path: '/greeter/chat', headers })
      const stream = await fetch(`${web.origin}/site/stream`, { headers: authorize(webToken) })
      const tunnel = await connectWebSocket(t, web.port, [], {
        path: '/site/socket',
        headers: authorize(webToken),
      })
      const ends = Promise.all([
        lines.text(),
        events.text(),
        getClose(call),
        stream.text().then(
          () => 'whole',
          () => 'cut',
        ),
        getClose(tunnel),
      ])
      const startMs = performance.now()
      action(opened)
      action(web)
      const [line, event, callEnd, streamEnd, tunnelEnd] = await ends
      t.ok(performance.now() - startMs < CHANGE_MS)
      t.match(line, /"Code":401/)
      t.match(event, /event: error\ndata: {.*"Code":401/)
      t.equal(callEnd, '4401 Unauthorized')
      t.equal(streamEnd, 'cut', 'a proxied stream can only be cut')
      t.equal(tunnelEnd, '4401 Unauthorized')
    })
  }

  t.test(`${name}: ends a stream when its token expires`, async (t) => {
    const { origin, port, source } = await open(t, listener, { rules: [MEMBERS] })
    // Including the tolerated clock skew, the token expires in one to two seconds.
    const token = await source.issue(JANE, { lifeS: 2, nowMs: Date.now() - 30_000 })
    const headers = authorize(token)
    const reply = await fetch(`${origin}/greeter/quiet`, { headers })
    const socket = await connectWebSocket(t, port, [], { path: '/greeter/chat', headers })
    const closed = getClose(socket)
    t.match(await reply.text(), /"Code":401/)
    t.equal(await closed, '4401 Unauthorized')
  })

  t.test(`${name}: leaves streams open that the new rules grant`, async (t) => {
    const { port, source, issue, authorizer } = await open(t, listener, { rules: [MEMBERS] })
    const headers = authorize(await issue(JANE))
    const socket = await connectWebSocket(t, port, [], { path: '/greeter/chat', headers })
    const changed = new Promise<void>((resolve) => void authorizer.onChange(resolve))
    source.setRules('mx', PUBLIC)
    await changed
    const response = nextMessage(socket)
    socket.send('{"name":"John"}')
    t.match(await response, 'John')
  })

  t.test(`${name}: requires no token for GET / and OPTIONS of /rpc`, async (t) => {
    const { origin } = await open(t, listener, { rules: [createRule({ scope: 'admin' })] })
    t.equal((await fetch(`${origin}/`)).status, 200)
    t.equal((await fetch(`${origin}/rpc`, { method: 'OPTIONS' })).status, 204)
  })
}
