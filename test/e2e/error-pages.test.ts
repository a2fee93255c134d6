import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { waitForValue } from '../fixtures/becomes.ts'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { listenHttp } from '../fixtures/listen.ts'

for (const listener of Object.keys(LISTENERS)) {
  t.test(`${listener}: errors have the pages of route, service and gateway`, async (t) => {
    const port = await listenHttp(t, (request, reply) => {
      if (request.url === '/pages/own') reply.writeHead(502).end('own error')
      else reply.setHeader('content-type', 'text/html').end(`<p>page ${request.url}`)
    })
    const { send, folder } = await openConfiguredGateway(
      t,
      `
errors: { 4xx: ./gateway.html, 5xx: ./gateway.html }
services:
  pages: http://127.0.0.1:${port}
  shop: { nodes: ["http://127.0.0.1:1"], errors: { 502: service:pages } }
  old: { nodes: ["http://127.0.0.1:1"], errors: { 5xx: service:none } }
routes:
  - match: { path: /files/** }
    files: ./dist
    errors: { 404: ./dist/404.html }
`,
      { listener, files: { 'gateway.html': '<p>gateway', 'dist/404.html': '<p>no such file' } },
    )
    const html = { accept: 'text/html' }
    t.match(await send('GET', '/files/none', html), { status: 404, text: '<p>no such file' })
    t.match(await send('POST', '/files/none', html), { status: 405, text: '<p>gateway' })
    const errorPage = await send('GET', '/shop/a', html)
    t.match(errorPage, { text: '<p>page /502', headers: { 'content-type': 'text/html' } })
    t.equal(errorPage.status, 502)
    t.match(await send('GET', '/shop/a', { accept: 'application/json' }), { text: /"Code":502/ })
    t.match(await send('POST', '/shop/a', html, 'body'), { status: 502, text: '<p>page /502' })
    t.match(await send('GET', '/none/a', html), { status: 404, text: '<p>gateway' })
    t.match(await send('GET', '/old/a', html), { status: 502, text: /"Code":502/ })
    t.match(await send('GET', '/pages/own', html), { status: 502, text: 'own error' })
    t.equal((await send('HEAD', '/none/a', html)).text, '')
    writeFileSync(join(folder, 'gateway.html'), '<p>changed')
    await waitForValue(t, async () => (await send('GET', '/none/a', html)).text, '<p>changed')
  })
}

t.test('rejects invalid pages with an error that states the expected form', async (t) => {
  const open = (errors: string) => openConfiguredGateway(t, `errors: ${errors}`)
  const rows: [string, RegExp][] = [
    ['{ 302: a.html }', /key of errors of the gateway must be a status from 400 to 599, 4xx or/],
    ['{ 502: "service:" }', /errors\.502 of the gateway must be a file such as/],
    ['{ 502: [a] }', /errors\.502 of the gateway must be a file such as/],
    ['[a]', /errors of the gateway must be a map/],
    ['{ 502: none.html }', /mx\.yaml:1:11: errors\.502: cannot read .*none\.html: ENOENT/],
  ]
  for (const [errors, problem] of rows) await t.rejects(open(errors), problem, errors)
})
