// Requests that a web page can make a browser send; see docs/server.md, "Web pages".
import { createServer, request } from 'node:http'
import { chromium } from 'playwright-core'
import t, { type Test } from 'tap'
import { RPC_PATH } from '../../core/rpc/ws/frames.ts'
import { listen } from '../fixtures/listen.ts'
import { logIn, openServer } from '../fixtures/server.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { rejectedWebSocket } from '../fixtures/web-gateway.ts'

t.setTimeout(120_000)

const EVIL = 'http://evil.test'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const SET = '/config/set?path=a&value.data=1'

/** Names of read-only endpoints. */
const READING =
  /\.(?:Get|GetService|Read|List\w*|Watch\w*|History|Config|ConfiguredRoutes|Logs|Keys|Inspect|Test|Stats|Requests|Routes|Plugins|Explain|Graph|Nodes|Services|Status|Topics|Groups|Databases|Tables)$/

interface RequestCase {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A server of the `local` profile without files, with functions that call its ports. */
async function open(t: Test, words: readonly string[] = []) {
  const { server, url, get } = await openServer(t, [
    '--profile=local',
    '--store=memory',
    '--events=memory',
    '--config_secret_key=memory',
    ...words,
  ])
  const token = await logIn(url, { id: 'admin', secret: server.adminPassword!.password })
  const sendRequest = (
    { method = 'GET', path = '/', headers = {}, body = '' }: RequestCase,
    { port } = server.address,
  ): Promise<{ status: number; text: string }> =>
    new Promise((resolve, reject) => {
      // All requests are authorized as administrator.
      const all = { authorization: `Bearer ${token}`, ...headers }
      const options = { port, host: '127.0.0.1', method, path, headers: all }
      const sent = request(options, async (reply) => {
        let text = ''
        for await (const chunk of reply.setEncoding('utf8')) text += chunk
        resolve({ status: reply.statusCode ?? 0, text })
      })
      sent.on('error', reject).end(body)
    })
  const isSet = async (): Promise<boolean> => {
    const { body } = await get('/config/get?path=a', { authorization: `Bearer ${token}` })
    return body.value?.data === '1'
  }
  return { server, url, token, sendRequest, isSet }
}

for (const listener of ['uws', 'node']) {
  t.test(`${listener}: denies calls of a page of another host`, async (t) => {
    const { sendRequest, isSet, server } = await open(t, [`--listener=${listener}`])
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
    const link = { ...image, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const rows: RequestCase[] = [
      { path: SET, headers: { origin: EVIL } },
      { path: SET, headers: { origin: 'null' } },
      { path: SET, headers: { ...image, 'sec-fetch-dest': 'image' } },
      { path: SET, headers: link },
      { path: SET, headers: { ...link, 'sec-fetch-dest': 'iframe' } },
      {
        path: '/config/set',
        method: 'POST',
        headers: { origin: EVIL, ...FORM },
        body: 'path=a&value.data=1',
      },
      {
        path: '/config/set',
        method: 'POST',
        headers: { ...link, ...FORM },
        body: 'path=a&value.data=1',
      },
      {
        path: '/rpc',
        method: 'POST',
        headers: { origin: EVIL, ...FORM },
        body: 'service=config&method=Config.Set&request={"path":"a","value":{"data":"1"}}',
      },
      { path: SET, headers: { host: 'evil.test:8080' } },
      { path: SET, headers: { host: 'evil.test', origin: EVIL } },
    ]
    for (const sent of rows) {
      const { status, text } = await sendRequest(sent)
      t.equal(status, 403, JSON.stringify(sent))
      t.match(JSON.parse(text), {
        Id: 'go.mx.api',
        Code: 403,
        Detail: /--(web_origins|hosts)\b/,
        Status: 'Forbidden',
      })
    }
    for (const headers of [{ origin: EVIL }, { host: 'evil.test' }] as RequestCase['headers'][]) {
      const socket = await rejectedWebSocket(server.address.port, {
        path: '/config/watch',
        headers,
      })
      t.equal(socket.status, 403)
    }
    t.notOk(await isSet())
  })

  t.test(`${listener}: serves its own pages, links to its root, and programs`, async (t) => {
    const { sendRequest, isSet, url } = await open(t, [`--listener=${listener}`])
    const link = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const entered = { ...link, 'sec-fetch-site': 'none' }
    const sameOrigin = {
      origin: url,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
    }
    t.equal(
      (await sendRequest({ headers: { ...link, 'sec-fetch-site': 'cross-site' } })).status,
      200,
    )
    t.equal((await sendRequest({ path: '/registry/listServices', headers: entered })).status, 200)
    t.equal((await sendRequest({ headers: { host: 'shop.localhost:8080' } })).status, 200)
    t.equal((await sendRequest({ path: '/registry/listServices' })).status, 200)
    const body = '{"path":"a","value":{"data":"1"}}'
    t.equal(
      (await sendRequest({ method: 'POST', path: '/config/set', headers: sameOrigin, body }))
        .status,
      200,
    )
    t.ok(await isSet())
  })

  t.test(`${listener}: RPC proxy and dashboard also deny pages of another host`, async (t) => {
    const { sendRequest, isSet, server } = await open(t, [`--listener=${listener}`])
    const call = { 'mx-service': 'config', 'mx-endpoint': 'Config.Set' }
    const body = '{"path":"a","value":{"data":"1"}}'
    for (const headers of [
      { ...call, ...FORM, origin: EVIL },
      {
        ...call,
        'content-type': 'application/json',
        origin: 'http://evil.test:8081',
        host: 'evil.test:8081',
      },
    ])
      t.equal(
        (await sendRequest({ method: 'POST', headers, body }, server.proxyAddress)).status,
        403,
      )
    const image = { ...call, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
    t.equal((await sendRequest({ headers: image }, server.proxyAddress)).status, 405)
    const { status } = await rejectedWebSocket(server.proxyAddress.port, {
      path: RPC_PATH,
      headers: { origin: EVIL },
    })
    t.equal(status, 403)
    t.notOk(await isSet())

    t.equal((await sendRequest({}, server.webAddress)).status, 200)
    for (const headers of [{ host: 'evil.test' }, { origin: EVIL }] as RequestCase['headers'][])
      t.equal((await sendRequest({ headers: headers! }, server.webAddress)).status, 403)
  })
}

t.test('denies browser navigation to built-in endpoints that modify data', async (t) => {
  const { sendRequest, isSet, server } = await open(t, ['--web_origins=any'])
  const { text } = await sendRequest({ path: '/registry/listServices' })
  const { services } = JSON.parse(text) as {
    services: { name: string; endpoints: { name: string; metadata: { readOnly?: string } }[] }[]
  }
  const names = services.map(({ name }) => name).sort()
  t.strictSame(names, [...server.services].sort())
  const entered = {
    ...{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
  }
  let readable = 0
  for (const { name, endpoints } of services)
    for (const endpoint of endpoints) {
      const full = `${name}.${endpoint.name}`
      if (endpoint.metadata.readOnly === 'true') {
        readable++
        t.match(full, READING)
        continue
      }
      t.notMatch(full, READING)
      const [handler, method] = endpoint.name.split('.')
      // Links between servers use the RPC proxy only.
      const [status, Detail] =
        full === 'network.Network.Link'
          ? [404, `endpoint not found: ${full}`]
          : [403, `${full} changes state and cannot be called by browser`]
      for (const sent of [
        { path: `/${name}/${handler}/${method}` },
        { path: `/${name}/${handler}/${method}`, method: 'POST', headers: FORM },
        {
          ...{ path: '/rpc', method: 'POST', headers: FORM },
          body: `service=${name}&method=${endpoint.name}&request={}`,
        },
      ] as RequestCase[]) {
        const reply = await sendRequest({ ...sent, headers: { ...entered, ...sent.headers } })
        t.equal(reply.status, status, `${sent.path} ${full}`)
        t.match(JSON.parse(reply.text), { Detail })
      }
    }
  t.ok(readable > 20)
  for (const path of ['/registry/listServices', '/auth/keys', '/config/debug/health', '/'])
    t.equal((await sendRequest({ path, headers: entered })).status, 200, path)
  t.equal((await sendRequest({ path: SET, headers: { 'sec-fetch-site': 'none' } })).status, 200)
  t.ok(await isSet(), 'GET without browser navigation is a call')
})

t.test('allows listed origins', async (t) => {
  const { sendRequest } = await open(t, [
    '--web_origins=https://app.test',
    '--cors_origins=https://shop.test',
    '--hosts=api.test',
  ])
  for (const origin of ['https://app.test', 'https://shop.test'])
    for (const host of ['api.test', 'localhost'])
      t.equal(
        (await sendRequest({ path: '/registry/listServices', headers: { origin, host } })).status,
        200,
      )
  t.equal((await sendRequest({ headers: { origin: EVIL } })).status, 403)
  t.equal((await sendRequest({ headers: { host: 'evil.test' } })).status, 403)
})

t.test('allows all origins if the list is any', async (t) => {
  const { sendRequest } = await open(t, ['--web_origins=any', '--hosts=any'])
  const headers = { origin: EVIL, host: 'evil.test' }
  t.equal((await sendRequest({ path: '/registry/listServices', headers })).status, 200)
})

t.test('a browser cannot call anything for a page of another host', async (t) => {
  const program = skipUnless(t, 'chromium-headless-shell')
  if (program === undefined) return
  const { isSet, server, token } = await open(t)
  const { port } = server.address
  const page = createServer((_request, reply) => {
    reply.setHeader('content-type', 'text/html')
    reply.end(`<!doctype html><form></form><a href="http://127.0.0.1:${port}${SET}">x</a>`)
  })
  const pagePort = await listen(t, page)
  const browser = await chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP evil.test 127.0.0.1'],
  })
  t.teardown(() => browser.close())
  const context = await browser.newContext()
  // All requests are authorized as administrator.
  await context.setExtraHTTPHeaders({ authorization: `Bearer ${token}` })
  const tab = await context.newPage()
  const evil = `http://evil.test:${pagePort}/`
  await tab.goto(evil)
  // Passed as text, because it runs in the page.
  const attempts = await tab.evaluate(`(async () => {
    const url = 'http://127.0.0.1:${port}${SET}'
    const image = new Image()
    const drawn = new Promise((resolve) => {
      image.onload = () => resolve(true)
      image.onerror = () => resolve(false)
    })
    image.src = url
    const socket = new WebSocket('ws://127.0.0.1:${port}/config/watch')
    const opened = new Promise((resolve) => {
      socket.onopen = () => resolve(true)
      socket.onerror = () => resolve(false)
    })
    const body = new URLSearchParams({ path: 'a', 'value.data': '1' })
    await fetch(url, { mode: 'no-cors' }).catch(() => {})
    await fetch(url, { method: 'POST', mode: 'no-cors', body }).catch(() => {})
    return [await drawn, await opened]
  })()`)
  t.same(attempts, [false, false], 'an image and a WebSocket')
  t.equal((await tab.goto(`http://evil.test:${port}${SET}`))?.status(), 403, 'DNS rebinding')
  const linking = await context.newPage()
  await linking.goto(evil)
  const [link] = await Promise.all([linking.waitForResponse(/config/), linking.click('a')])
  t.equal(link.status(), 403, 'a link')
  const posting = await context.newPage()
  await posting.goto(evil)
  const [posted] = await Promise.all([
    posting.waitForResponse(/config/),
    posting.evaluate(`
      const form = document.forms[0]
      form.method = 'post'
      form.action = 'http://127.0.0.1:${port}${SET}'
      form.submit()
    `),
  ])
  t.equal(posted.status(), 403, 'a form')
  t.notOk(await isSet())
  const otherPage = await context.newPage()
  t.equal((await otherPage.goto(`http://localhost:${port}/`))?.status(), 200)
  const called = await otherPage.evaluate(
    async (path) => (await fetch(path, { method: 'POST' })).status,
    SET,
  )
  t.equal(called, 200, 'a page of the same host')
  t.ok(await isSet())
})
