import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Plugin } from '../../core/chain.ts'
import { type Dashboard, startDashboard } from '../../platform/dashboard.ts'
import { createLog } from '../../platform/log.ts'
import hosts from '../../plugins/hosts.ts'
import { buildPlugin } from '../../sdk/testing.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { RawClient } from '../fixtures/raw-client.ts'

/** The reply to a GET of the page with this Host. */
async function ask(port: number, host: string): Promise<string> {
  const client = new RawClient(port)
  client.send(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  await client.until(({ closed }) => closed)
  client.socket.destroy()
  return client.text
}

async function open(
  t: Test,
  listener: keyof typeof LISTENERS,
  guards: readonly Plugin[] = [],
): Promise<Dashboard> {
  const dashboard = await startDashboard({
    address: { host: '127.0.0.1', port: 0 },
    createListener: LISTENERS[listener],
    version: '1.2.3',
    toGatewayUrl: (hostname) => `http://${hostname}:8080`,
    guards,
    log: createLog('silent'),
  })
  t.teardown(dashboard.close)
  return dashboard
}

for (const listener of ['uws', 'node'] as const) {
  t.test(`${listener}: the page tells name, version and where the gateway is`, async (t) => {
    const { port } = await open(t, listener)
    const reply = await fetch(`http://localhost:${port}/`)
    const page = await reply.text()
    t.equal(reply.status, 200)
    t.match(page, '<title>mx 1.2.3</title>')
    t.match(page, '<a href="http://localhost:8080/registry/listServices">')
    t.match(Object.fromEntries(reply.headers), {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': /^default-src 'none'; .*frame-ancestors 'none'$/,
    })
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(page)!
    const hash = createHash('sha256').update(style).digest('base64')
    t.match(reply.headers.get('content-security-policy'), `style-src 'sha256-${hash}'`)
  })

  t.test(`${listener}: other paths are 404, other methods 405, HEAD has no body`, async (t) => {
    const origin = `http://127.0.0.1:${(await open(t, listener)).port}`
    const missing = await fetch(`${origin}/index.html`)
    t.equal(missing.status, 404)
    t.match(await missing.json(), { Id: 'dashboard', Code: 404 })
    const posted = await fetch(`${origin}/`, { method: 'POST' })
    t.strictSame([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
    const head = await fetch(`${origin}/`, { method: 'HEAD' })
    t.strictSame([head.status, await head.text()], [200, ''])
  })

  t.test(`${listener}: a Host that is no plain name does not get into the page`, async (t) => {
    const { port } = await open(t, listener)
    for (const host of ["a'b", 'a_b', 'a%22b'])
      t.notMatch(await ask(port, host), `href="http://${host}`)
    t.match(await ask(port, '[::1]:80'), 'href="http://[::1]:8080/"')
  })
}

t.test('guards stand in front of the page, and may be replaced', async (t) => {
  const { port, use } = await open(t, 'uws', [buildPlugin(hosts)])
  t.match(await ask(port, 'localhost'), /^HTTP\/1.1 200/)
  const refusal = await ask(port, 'evil.test')
  t.match(refusal, /^HTTP\/1.1 403/)
  t.match(refusal, 'is not served here')
  use([buildPlugin(hosts, { allow: ['evil.test'] })])
  t.match(await ask(port, 'evil.test'), /^HTTP\/1.1 200/)
})

t.test('draining closes the port', async (t) => {
  const dashboard = await open(t, 'uws')
  await fetch(`http://127.0.0.1:${dashboard.port}/`).then((reply) => reply.text())
  await dashboard.drain()
  t.equal(await ask(dashboard.port, 'localhost'), '')
})
