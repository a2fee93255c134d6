import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { PAGE_FETCHER } from '../../../../core/upstream/fetch-page.ts'
import { createErrorPages } from '../../../../platform/gateway/routes/error-pages.ts'
import { createTestEnv, runPlugin, type TestRequest } from '../../../../sdk/testing.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

function open(t: Test, pages: Readonly<Record<string, string>>) {
  const folder = makeTempFolder(t, 'pages')
  const entries = Object.entries(pages).map(([status, text]) => {
    const file = join(folder, `${status}.html`)
    writeFileSync(file, text)
    return { status, file, service: undefined, at: 'mx.yaml:1:1' }
  })
  const plugin = createErrorPages('gateway', entries, {
    ...{ namespace: '', find: () => undefined, log: createTestEnv().log },
  })
  t.teardown(() => plugin.close?.())
  const send = (code: number, headers: TestRequest['headers'] = {}) =>
    runPlugin(
      plugin,
      { headers },
      {
        handle: () => {
          throw new GatewayError('shop', code, 'detail', { headers: ['retry-after', '1'] })
        },
      },
    )
  return { send, plugin }
}

t.test('the page of a status replaces the body and keeps status and headers', async (t) => {
  const { send } = open(t, { 502: '<p>sorry', '5xx': '<p>broken', '4xx': '<p>wrong' })
  const errorPage = await send(502)
  t.strictSame([errorPage.status, errorPage.body], [502, '<p>sorry'])
  t.equal(errorPage.headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(errorPage.headers.get('retry-after'), '1')
  t.equal(errorPage.headers.get('cache-control'), 'no-store')
  t.equal((await send(503)).body, '<p>broken')
  t.equal((await send(404)).body, '<p>wrong')
})

t.test('clients that accept JSON and not HTML keep the JSON body', async (t) => {
  const { send } = open(t, { '5xx': '<p>broken' })
  for (const accept of ['application/json', 'application/problem+json, */*;q=0.1'])
    t.match(JSON.parse((await send(502, { accept })).body), /./, accept)
  for (const accept of ['*/*', 'text/html, application/json', ''])
    t.equal((await send(502, { accept })).body, '<p>broken', accept)
  t.equal((await send(404)).headers.get('content-type'), 'application/json', 'without a page')
  const grpc = await send(502, { 'content-type': 'application/grpc-web' })
  t.not(grpc.body, '<p>broken')
})

t.test('a request for an error page gets no error page, so that a loop ends', async (t) => {
  const { send } = open(t, { '5xx': '<p>broken' })
  const { body } = await send(502, { via: `1.1 ${PAGE_FETCHER}, 1.1 mx` })
  t.not(body, '<p>broken')
})

t.test('a response of a service is not replaced', async (t) => {
  const { plugin } = open(t, { '5xx': '<p>broken' })
  const { status, body } = await runPlugin(plugin, {}, { reply: { status: 502, body: 'own' } })
  t.strictSame([status, body], [502, 'own'])
})

t.test('rejects a file that cannot be read with the position of its entry', async (t) => {
  const entry = { status: '502', file: '/none/a.html', service: undefined, at: 'mx.yaml:3:5' }
  t.throws(
    () =>
      createErrorPages('route', [entry], {
        ...{ namespace: '', find: () => undefined, log: createTestEnv().log },
      }),
    { message: /^mx\.yaml:3:5: errors\.502: cannot read \/none\/a\.html: ENOENT/ },
  )
})
