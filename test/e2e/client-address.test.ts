// The client address of a login at a complete server comes from the socket or a trusted proxy's header only.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RawClient } from '../fixtures/raw-client.ts'
import { openServer } from '../fixtures/server.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(60_000)

const TRUSTED = ['--trusted_proxies=loopback', '--trusted_proxies_optional']
/** Version 2, command PROXY, TCP over IPv4 (haproxy.org, proxy-protocol.txt §2.2), up to the addresses. */
const PROXY_V2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c', 'latin1')

/** From 203.0.113.x to 127.0.0.1. */
function toProxyHeader(x: number): Buffer {
  return Buffer.concat([PROXY_V2, Buffer.from([203, 0, 113, x, 127, 0, 0, 1, 80, 80, 0, 80])])
}

for (const [description, args, headers, client] of [
  ['without trusted proxies', [], '', '127.0.0.1'],
  ['of a trusted proxy', TRUSTED, '', '127.0.0.1'],
  [
    'of a trusted proxy with a header',
    TRUSTED,
    'X-Forwarded-For: 198.51.100.7\r\n',
    '198.51.100.7',
  ],
] as const)
  t.test(`PROXY protocol ${description}: limits and logs ignore its address (uws)`, async (t) => {
    const log = join(makeTempFolder(t, 'log'), 'access.log')
    const { server, url } = await openServer(t, [...args, '--listener=uws', `--access_log=${log}`])
    const body = JSON.stringify({ id: 'admin', secret: 'wrong' })
    const request = `POST /auth/token HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${headers}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    for (const [x, status] of [400, 400, 400, 400, 400, 429].entries()) {
      const raw = new RawClient(Number(new URL(url).port)).send(toProxyHeader(x)).send(request)
      t.match(await raw.replies(1), [new RegExp(`^HTTP/1.1 ${status} `)])
      raw.destroy()
    }
    await server.close()
    const lines = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const clients = lines.filter(({ status }) => status !== 200).map((line) => line.client)
    t.strictSame(clients, Array(6).fill(client))
  })

t.test('PROXY protocol: the node listener rejects it', async (t) => {
  const { url } = await openServer(t, [...TRUSTED, '--listener=node'])
  const raw = new RawClient(Number(new URL(url).port)).send(toProxyHeader(1))
  t.match((await raw.ended()).text, /^HTTP\/1.1 400 /)
})

t.test(
  'during a flood of guesses known addresses can log in, and other addresses receive 503 after 5 s',
  async (t) => {
    // A separate process, because servers in the test process use the `test` profile, whose hashes are cheap.
    const { gateway, auth } = await startServerProcess(t, TRUSTED)
    const logIn = async (address: string, { id, secret } = auth) => {
      const startMs = performance.now()
      const reply = await fetch(`${gateway}/auth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify({ id, secret }),
      })
      const { Detail: detail } = await reply.json()
      const retryAfter = reply.headers.get('retry-after')
      return { status: reply.status, detail, retryAfter, tookMs: performance.now() - startMs }
    }
    t.equal((await logIn('192.0.2.1')).status, 200)
    const flood = Array.from({ length: 250 }, (_, i) =>
      logIn(`198.51.100.${i}`, { id: `guess${i}`, secret: 'wrong' }),
    )
    await Promise.race(flood)
    for (let i = 0; i < 2; i++) {
      const { status, tookMs } = await logIn('192.0.2.1')
      t.equal(status, 200)
      t.ok(tookMs < 5000, `a known address: ${Math.round(tookMs)} ms`)
    }
    const ends = await Promise.all(flood)
    const responses = new Set(
      ends.map(({ status, retryAfter, detail }) => `${status} ${retryAfter} ${detail}`),
    )
    t.strictSame([...responses].sort(), [
      '400 null Secret not correct, or no account with this ID',
      '503 5 Too many password checks: the wait exceeds 5 s. Try again later.',
    ])
    const longestMs = Math.max(...ends.map(({ tookMs }) => tookMs))
    t.ok(longestMs < 10_000, `the slowest response took ${Math.round(longestMs)} ms`)
  },
)
