import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import { GatewayError } from '../../../core/errors.ts'
import { type Dashboard, startDashboard } from '../../../platform/dashboard/dashboard.ts'
import { createLog } from '../../../platform/process/log.ts'
import hosts from '../../../plugins/access/hosts.ts'
import { buildPlugin } from '../../../sdk/testing.ts'
import { LISTENERS } from '../../fixtures/gateway.ts'
import { RawClient } from '../../fixtures/raw-client.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const DOCUMENT = '<!doctype html><title>mx</title>'

/** Folder of a built front end. */
function build(t: Test): string {
  const folder = makeTempFolder(t, 'web')
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), DOCUMENT)
  writeFileSync(join(folder, 'assets/index-Ab1_.js'), 'run()')
  writeFileSync(join(folder, 'assets/index-Ab1_.js.br'), 'brotli')
  writeFileSync(join(folder, 'favicon.svg'), '<svg/>')
  return folder
}

/** Response to a GET of the page with this Host. */
async function sendRequest(port: number, host: string): Promise<string> {
  const client = new RawClient(port)
  client.send(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  await client.waitUntil(({ closed }) => closed)
  client.socket.destroy()
  return client.text
}

async function open(
  t: Test,
  listener: keyof typeof LISTENERS,
  { folder = build(t), guards = [] as readonly Plugin[] } = {},
): Promise<Dashboard & { readonly origin: string }> {
  const dashboard = await startDashboard({
    address: { host: '127.0.0.1', port: 0 },
    createListener: LISTENERS[listener],
    folder,
    callBridge: () => {
      throw new GatewayError('test', 503, 'no server')
    },
    guards,
    idleTimeoutMs: 60_000,
    maxAgeMs: 60_000,
    log: createLog('silent'),
  })
  t.teardown(dashboard.close)
  return { ...dashboard, origin: `http://127.0.0.1:${dashboard.port}` }
}

for (const listener of ['uws', 'node'] as const) {
  t.test(`${listener}: serves the document at every page path`, async (t) => {
    const { origin } = await open(t, listener)
    for (const path of ['/', '/services/go.mx.api.greeter', '/login', '/index.html', '/a/b?c=d']) {
      const reply = await fetch(origin + path, { headers: { accept: 'text/html' } })
      t.equal(reply.status, 200, path)
      t.equal(await reply.text(), DOCUMENT, path)
      t.match(Object.fromEntries(reply.headers), {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
      })
    }
    const head = await fetch(`${origin}/`, { method: 'HEAD' })
    t.strictSame([head.status, await head.text()], [200, ''])
  })

  t.test(
    `${listener}: serves assets as immutable, compressed if the browser accepts it`,
    async (t) => {
      const { origin } = await open(t, listener)
      const get = (path: string, encoding: string): Promise<Response> =>
        fetch(origin + path, { headers: { 'accept-encoding': encoding } })
      const plain = await get('/assets/index-Ab1_.js', 'gzip, br;q=0')
      t.equal(await plain.text(), 'run()')
      t.match(Object.fromEntries(plain.headers), {
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'accept-encoding',
      })
      const compressed = await new Promise<string>((resolve) => {
        const client = new RawClient(Number(new URL(origin).port))
        client.send(
          'GET /assets/index-Ab1_.js HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip, br\r\nconnection: close\r\n\r\n',
        )
        void client.waitUntil(({ closed }) => closed).then(() => resolve(client.text))
      })
      t.match(compressed, /content-encoding: br\r\n/i)
      t.match(compressed, /\r\n\r\nbrotli$/)
      const icon = await get('/favicon.svg', '')
      t.equal(icon.headers.get('content-type'), 'image/svg+xml')
      t.equal(icon.headers.get('cache-control'), 'no-cache')
      for (const path of ['/assets/none.js', '/assets/../index.html/', '/.mx/other', '/.git'])
        t.equal((await get(path, '')).status, 404, path)
    },
  )

  t.test(`${listener}: sends security headers with every response, including errors`, async (t) => {
    const { origin, port } = await open(t, listener)
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/assets/index-Ab1_.js'],
      ['GET', '/assets/none.js'],
      ['GET', '/session'],
      ['POST', '/login'],
      ['DELETE', '/'],
    ]) {
      const reply = await fetch(origin + path, { method: method! })
      t.match(
        Object.fromEntries(reply.headers),
        {
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
          'cache-control': /./,
        },
        `${method} ${path}`,
      )
      const policy = reply.headers.get('content-security-policy')!.split('; ')
      for (const part of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        `connect-src 'self' ws://127.0.0.1:${port} wss://127.0.0.1:${port}`,
      ])
        t.ok(policy.includes(part), `${method} ${path}: ${part}`)
      t.notMatch(policy.join(), /unsafe/)
    }
  })

  t.test(`${listener}: does not copy an unusual Host into the policy`, async (t) => {
    const { port } = await open(t, listener)
    for (const host of ["a'b", 'a_b', 'a;b'])
      t.notMatch(await sendRequest(port, host), /connect-src 'self' ws/, host)
    t.match(await sendRequest(port, '[::1]:80'), "connect-src 'self' ws://[::1]:80 wss://[::1]:80")
  })

  t.test(`${listener}: rejects other methods, files and WebSockets`, async (t) => {
    const { origin } = await open(t, listener)
    const posted = await fetch(`${origin}/`, { method: 'POST' })
    t.strictSame([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
    t.match(await posted.json(), {
      Id: 'dashboard',
      Detail: 'method POST not allowed for /; expected GET',
    })
    const put = await fetch(`${origin}/session`, { method: 'PUT' })
    t.strictSame([put.status, put.headers.get('allow')], [405, 'GET, POST'])
    t.equal((await fetch(`${origin}/.mx/rpc`)).status, 426, 'no WebSocket')
  })
}

t.test('reports a missing front end', async (t) => {
  const { origin } = await open(t, 'uws', { folder: '/nonexistent' })
  const reply = await fetch(`${origin}/`)
  t.equal(reply.status, 503)
  t.match(await reply.text(), /The dashboard is not built.*<code>npm run build<\/code>/s)
})

t.test('guards apply to every request and can be replaced', async (t) => {
  const { port, use } = await open(t, 'uws', { guards: [buildPlugin(hosts)] })
  t.match(await sendRequest(port, 'localhost'), /^HTTP\/1.1 200/)
  const rejection = await sendRequest(port, 'evil.test')
  t.match(rejection, /^HTTP\/1.1 403/)
  t.match(rejection, 'is not allowed; add it to --hosts')
  use([buildPlugin(hosts, { allow: ['evil.test'] })])
  t.match(await sendRequest(port, 'evil.test'), /^HTTP\/1.1 200/)
})

t.test('draining closes the port', async (t) => {
  const dashboard = await open(t, 'uws')
  await fetch(`http://127.0.0.1:${dashboard.port}/`).then((reply) => reply.text())
  await dashboard.drain(1000)
  t.equal(await sendRequest(dashboard.port, 'localhost'), '')
})
