// External identity: the authentication plugins in sequence, in a standalone gateway in front of plain HTTP.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSecretHasher } from '../../core/auth/token/secret-hash.ts'
import { startMx } from '../fixtures/mx.ts'
import { createPair, openOidcIssuer } from '../fixtures/oidc-issuer.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'
import {
  connectWebSocket,
  getClose,
  openBackendServer,
  rejectedWebSocket,
} from '../fixtures/web-gateway.ts'

t.setTimeout(60_000)

const hasher = createSecretHasher('test', 4)
const toKeyLine = (key: string): string =>
  `shop ${createHash('sha256').update(key).digest('hex')} orders\n`
const toUserLine = async (password: string): Promise<string> =>
  `bank ${await hasher.hash(password)}\n`

type Fields = Record<string, string>
const bearer = (token: string): Fields => ({ authorization: `Bearer ${token}` })
const apiKey = (key: string): Fields => ({ 'x-api-key': key })
const basic = (id: string, password: string): Fields => ({
  authorization: `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`,
})

async function open(t: Test) {
  const issuer = await openOidcIssuer(t)
  const received: Fields[] = []
  const backend = await openBackendServer(t, {}, (req, res) => {
    received.push(req.headers as Fields)
    if (req.url !== '/app/events') return void res.end('plain')
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n')
  })
  const cwd = makeTempFolder(t, 'identity')
  const write = (name: string, text: string): void => writeFileSync(join(cwd, name), text)
  write('keys.txt', toKeyLine('a key'))
  write('users.txt', await toUserLine('a password'))
  write(
    'mx.yaml',
    `address: 127.0.0.1:0
handler: web
services: { app: [127.0.0.1:${backend.port}] }
plugins:
  - namespace
  - api-keys: { file: keys.txt, required: false }
  - basic-auth: { file: users.txt, required: false }
  - oidc: { issuer: '${issuer.issuer}', audience: [app] }
`,
  )
  const mx = startMx(['api'], { cwd })
  t.teardown(() => mx.child.kill('SIGKILL'))
  const url = await mx.url()
  const sendRequest = (headers: Fields) => fetch(`${url}/app/`, { headers })
  const port = Number(new URL(url).port)
  /** Opens a stream and a WebSocket, and returns how they end. */
  const watch = async (headers: Fields): Promise<{ ends: Promise<string>[] }> => {
    const reply = await fetch(`${url}/app/events`, { headers })
    t.equal(reply.status, 200)
    const socket = await connectWebSocket(t, port, [], { headers })
    const stream = reply.text().then(
      () => 'whole',
      () => 'cut',
    )
    return { ends: [stream, getClose(socket)] }
  }
  return { issuer, received, write, mx, port, sendRequest, watch }
}

t.test('allows only callers authenticated by key, password or token', async (t) => {
  const { issuer, received, sendRequest, port, mx } = await open(t)
  const nowS = Math.floor(Date.now() / 1000)
  const unknownKey = await createPair('ES256', 'one')
  const rows: [description: string, headers: Fields, challenge: string | undefined][] = [
    ['a token', bearer(await issuer.issue()), undefined],
    ['a key', apiKey('a key'), undefined],
    ['a password', basic('bank', 'a password'), undefined],
    ['a wrong key and a token', { ...apiKey('x'), ...bearer(await issuer.issue()) }, undefined],
    ['a token of a clock that is ahead', bearer(await issuer.issue({ nbf: nowS + 25 })), undefined],
    ['a token from a slow clock', bearer(await issuer.issue({ exp: nowS - 15 })), undefined],
    ['nothing', {}, 'Bearer'],
    ['a wrong key', apiKey('x'), 'ApiKey header="X-Api-Key"'],
    ['a wrong password', basic('bank', 'x'), 'Basic realm="mx", charset="UTF-8"'],
    ['another audience', bearer(await issuer.issue({ aud: 'x' })), 'Bearer error="invalid_token"'],
    ['expired', bearer(await issuer.issue({ exp: nowS - 40 })), 'Bearer error="invalid_token"'],
    [
      'not valid yet',
      bearer(await issuer.issue({ nbf: nowS + 60 })),
      'Bearer error="invalid_token"',
    ],
    [
      'an unknown key',
      bearer(await issuer.issue({}, {}, unknownKey)),
      'Bearer error="invalid_token"',
    ],
  ]
  for (const [description, headers, challenge] of rows) {
    const reply = await sendRequest(headers)
    t.equal(reply.status, challenge === undefined ? 200 : 401, description)
    t.equal(reply.headers.get('www-authenticate') ?? undefined, challenge, description)
    const text = await reply.text()
    if (challenge !== undefined) t.match(JSON.parse(text), { Id: 'go.mx.api.app', Code: 401 })
  }
  t.equal(received.length, 6)
  t.notOk(received.some(({ authorization }) => authorization !== undefined))
  t.equal((await rejectedWebSocket(port, { headers: apiKey('x') })).status, 401)
  t.notMatch(mx.output.stderr, /\n +at |a password|a key"/, 'no stack and no secret is logged')
})

t.test('ends streams and WebSockets when their token expires', async (t) => {
  const { issuer, watch } = await open(t)
  // Including the tolerated clock skew, the token expires in three to four seconds.
  const exp = Math.floor(Date.now() / 1000) - 26
  const { ends } = await watch(bearer(await issuer.issue({ exp })))
  t.same(await Promise.all(ends), ['cut', '4401 Unauthorized'])
})

t.test('ends streams and WebSockets when their key or password is removed', async (t) => {
  const { write, sendRequest, watch } = await open(t)
  const credentials = [apiKey('a key'), basic('bank', 'a password')]
  const watched = await Promise.all(credentials.map(watch))
  write('keys.txt', toKeyLine('another key'))
  write('users.txt', await toUserLine('another password'))
  const ends = await Promise.all(watched.flatMap(({ ends }) => ends))
  t.same(ends, ['cut', '4401 Unauthorized', 'cut', '4401 Unauthorized'])
  for (const headers of credentials) t.equal((await sendRequest(headers)).status, 401)
  t.equal((await sendRequest(apiKey('another key'))).status, 200)
  t.equal((await sendRequest(basic('bank', 'another password'))).status, 200)
})
