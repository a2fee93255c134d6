// Pages of services behind the gateway must not use the session of an operator, because browsers share cookies between
// all ports of a host (RFC 6265 §8.5). See docs/dashboard.md, "Security".

import { createServer } from 'node:http'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createLog } from '../../../platform/process/log.ts'
import { startServer } from '../../../platform/server/server.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { logInBrowser, openBrowser, openDashboard } from '../../fixtures/dashboard.ts'
import { listen, listenHttp } from '../../fixtures/listen.ts'
import { ADMIN, openServer, QUIET_FLAGS } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const NAMES = ['mx-dashboard', '__Host-mx-dashboard', 'mx-token']

interface Site {
  /** Cookies received by the service. */
  readonly cookies: string[]
  /** URL of the service's page through the gateway. */
  readonly url: string
}

/** A service of another owner: `/site` is a page, and `/site/cookies` sets cookies of the dashboard. */
async function openSite(): Promise<Site> {
  const cookies: string[] = []
  const listener = createServer(({ url = '', headers }, reply) => {
    cookies.push(headers.cookie ?? '')
    reply.setHeader('content-type', 'text/html')
    if (url.endsWith('/cookies'))
      reply.setHeader('set-cookie', [
        ...NAMES.flatMap((name) => [`${name}=fixed; Path=/; HttpOnly`, `=${name}=fixed; Path=/`]),
        'own=1; Path=/',
      ])
    reply.end('<!doctype html><title>site</title><body>')
  })
  const port = await listen(t, listener)
  const node = {
    id: 'site-1',
    address: `127.0.0.1:${port}`,
    metadata: { protocol: 'http' },
  }
  const entry = { name: 'site', metadata: { handler: 'web' }, nodes: [node] }
  t.equal((await server.post('/registry/register', entry)).status, 200)
  return { cookies, url: `${server.url}/site` }
}

const server = await openServer(t)
/** Allows pages of every origin. */
const anyOrigin = await openServer(t, ['--web_origins=any', '--cors_origins=*'])
const site = await openSite()

/** A browser in which the operator is logged in to the dashboard, with another tab. */
async function open(t: Test) {
  const opened = await openDashboard(t, { server })
  if (opened === undefined) return undefined
  const { context, url } = opened
  const [cookie] = await context.cookies(url)
  return { ...opened, cookie: cookie!, tab: await context.newPage() }
}

async function isAccount(id: string): Promise<boolean> {
  const { body } = await server.post('/auth/accounts/list', {})
  return (body.accounts as { id: string }[]).some((account) => account.id === id)
}

const isLoggedIn = async ({ request }: BrowserContext, url: string): Promise<boolean> =>
  (await request.get(`${url}/session`)).ok()

/** Status of a request by a script of the page. */
const send = (page: Page, url: string, init: object = {}): Promise<number> =>
  page.evaluate(
    `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(({ status }) => status)`,
  )

t.test(
  'a page of a service cannot call as the operator, and its service receives no session',
  async (t) => {
    const opened = await open(t)
    if (opened === undefined) return
    const { tab, cookie } = opened
    t.match(cookie, { name: 'mx-dashboard', httpOnly: true, sameSite: 'Strict', path: '/' })
    t.equal((await tab.goto(site.url))?.status(), 200)
    const generate = `${server.url}/auth/generate?id=by-page&scopes=admin&secret=by-page-by-page-1`
    t.equal(await send(tab, generate), 401)
    t.equal(await send(tab, generate, { method: 'POST' }), 401)
    t.equal(await send(tab, `${server.url}/auth/accounts/list`), 401)
    const json = { 'content-type': 'application/json' }
    const body = JSON.stringify({ service: 'auth', method: 'Accounts.List', request: {} })
    t.equal(await send(tab, `${server.url}/rpc`, { method: 'POST', headers: json, body }), 401)
    t.notOk(await isAccount('by-page'))
    t.strictSame(site.cookies.splice(0), [''])
  },
)

t.test('a link opened by another program changes nothing', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { tab } = opened
  // The request contains credentials, which a browser cannot add by itself.
  for (const headers of [{}, { authorization: `Bearer ${server.token}` }]) {
    await tab.setExtraHTTPHeaders(headers as Record<string, string>)
    for (const path of [
      '/auth/generate?id=by-link&scopes=admin&secret=by-link-by-link-1',
      '/config/set?path=a&value.data=1',
      '/auth/rules/create?rule.id=by-link&rule.access=DENIED&rule.priority=1',
      '/auth/rotateKey',
    ])
      t.equal((await tab.goto(server.url + path))?.status(), 403, path)
    t.equal(
      (await tab.goto(`${server.url}/registry/listServices`))?.status(),
      200,
      'reads are allowed',
    )
    t.notOk(await isAccount('by-link'))
  }
})

t.test("a service that sets the dashboard's cookies does not change a session", async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { tab, context, cookie, url, page } = opened
  t.equal((await tab.goto(`${site.url}/cookies`))?.status(), 200)
  const cookies = await context.cookies(url)
  t.strictSame(
    cookies.map(({ name, value }) => [name, value]).sort(),
    [
      ['mx-dashboard', cookie.value],
      ['own', '1'],
    ],
    'other cookies are set',
  )
  t.ok(await isLoggedIn(context, url))

  // Scripts cannot replace the cookie either; cookies that they add do not change the session.
  await tab.evaluate(`(() => {
    document.cookie = 'mx-dashboard=fixed; path=/'
    document.cookie = 'mx-dashboard=fixed; path=/session'
  })()`)
  t.ok(await isLoggedIn(context, url))
  await page.reload()
  await page.getByRole('button', { name: 'Log out' }).waitFor()
})

t.test('a page of a service cannot frame the dashboard', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { tab, url } = opened
  await tab.goto(site.url)
  const rejected = tab.waitForEvent('console', (message) =>
    /frame-ancestors|x-frame-options/i.test(message.text()),
  )
  await tab.evaluate(`(() => {
    const frame = document.createElement('iframe')
    frame.src = ${JSON.stringify(url)}
    document.body.append(frame)
  })()`)
  t.match((await rejected).text(), /refused|violates|denied/i)
})

t.test('logging out ends the session on the server for every copy of its cookie', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { page, context, cookie, url } = opened
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('button', { name: 'Log in' }).waitFor()
  t.strictSame(await context.cookies(url), [])
  await context.addCookies([cookie])
  t.notOk(await isLoggedIn(context, url))
})

t.test(
  'over TLS the cookie has the __Host- prefix, which pages without TLS cannot set',
  async (t) => {
    const browser = await openBrowser(t)
    if (browser === undefined) return
    const folder = createCertificateFolder(t)
    const { certFile, keyFile } = folder.write('site', createCertificate(['localhost']))
    const tls = ['--enable_tls', `--tls_cert_file=${certFile}`, `--tls_key_file=${keyFile}`]
    const flags = readFlags([...QUIET_FLAGS, ...tls], 'server')
    const configuration = await configurationFrom(flags, { MX_PROFILE: 'test' }, 'server')()
    const secure = await startServer({ configuration, log: createLog('silent') })
    t.teardown(secure.close)
    const url = `https://localhost:${secure.webAddress.port}`
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.goto(url)
    await page.getByRole('textbox', { name: 'Account' }).fill(ADMIN.id)
    await page.getByLabel('Password').fill(ADMIN.secret)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    const cookies = await context.cookies(url)
    t.match(cookies, [
      {
        ...{ name: '__Host-mx-dashboard', domain: 'localhost', path: '/' },
        ...{ httpOnly: true, secure: true, sameSite: 'Strict' },
      },
    ])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    t.strictSame(await context.cookies(url), [])
  },
)

/** A page at another port. It is the same site for a browser, so even strict cookies are sent. */
async function openAttacker(t: Test): Promise<string> {
  const port = await listenHttp(t, (_, reply) => {
    reply.setHeader('content-type', 'text/html')
    reply.end('<!doctype html><title>attacker</title><body>')
  })
  return `http://127.0.0.1:${port}/`
}

/** A browser logged in as `admin`, undefined if no browser is installed. */
async function openWithAnyOrigin(
  t: Test,
): Promise<{ page: Page; context: BrowserContext; url: string } | undefined> {
  const browser = await openBrowser(t)
  if (browser === undefined) return undefined
  const url = `http://127.0.0.1:${anyOrigin.server.webAddress.port}`
  const context = await browser.newContext()
  t.teardown(() => context.close())
  await logInBrowser(context, url, ADMIN)
  return { context, url, page: await context.newPage() }
}

/** Results of script attempts in a page: `done` or the name of an error. */
interface AttackResults {
  readonly inline: string
  readonly foreign: string
  /** Whether any script ran. */
  readonly scriptRan: boolean
  /** Violated directives. */
  readonly violations: readonly string[]
  /** Everything in browser storage that scripts can read. */
  readonly retained: string
}

t.test('a page of another port cannot log out or call anything', async (t) => {
  const opened = await openWithAnyOrigin(t)
  if (opened === undefined) return
  const { page, context, url } = opened
  await page.goto(await openAttacker(t))
  const result = await page.evaluate(`(async () => {
    const url = ${JSON.stringify(url)}
    const send = (path, init) =>
      fetch(url + path, { credentials: 'include', ...init }).then(
        (reply) => reply.status,
        () => 'no readable response',
      )
    const socket = new WebSocket(url.replace('http', 'ws') + '/.mx/rpc', 'mx.rpc.1')
    const opened = new Promise((resolve) => {
      socket.onopen = () => resolve('open')
      socket.onclose = ({ code }) => resolve(code)
    })
    return {
      simple: await send('/logout', { method: 'POST', mode: 'no-cors' }),
      readable: await send('/logout', { method: 'POST' }),
      session: await send('/session', { method: 'GET' }),
      socket: await opened,
    }
  })()`)
  t.match(result, {
    readable: 'no readable response',
    session: 'no readable response',
    socket: 1006,
  })
  t.ok(await isLoggedIn(context, url), 'still logged in')
})

t.test(
  'scripts cannot read the session id or a token, and only scripts of the dashboard run',
  async (t) => {
    const opened = await openWithAnyOrigin(t)
    if (opened === undefined) return
    const { page, context, url } = opened
    await page.goto(url)
    await page.locator('main').first().waitFor()
    const [cookie] = await context.cookies(url)
    t.match(cookie, { name: 'mx-dashboard', httpOnly: true, sameSite: 'Strict', path: '/' })
    const visible = (await page.evaluate(`(async () => {
    const violations = []
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective))
    const attempt = async (what) => {
      try {
        await what()
        return 'done'
      } catch (error) {
        return error.name
      }
    }
    const inline = await attempt(() => {
      document.body.innerHTML += '<img src=x onerror="window.hacked = true">'
    })
    const handler = await attempt(() => {
      const image = document.createElement('img')
      image.setAttribute('onerror', 'window.hacked = true')
      image.src = '/assets/none.png'
      document.body.append(image)
      return new Promise((resolve) => image.addEventListener('error', resolve))
    })
    const link = await attempt(() => {
      const link = document.createElement('a')
      link.href = 'javascript:window.hacked = true'
      document.body.append(link)
      link.click()
    })
    const foreign = await attempt(() => fetch('http://127.0.0.1:1/'))
    while (!violations.includes('connect-src')) await new Promise(requestAnimationFrame)
    const retained = [document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)]
    return { inline, handler, link, foreign, violations, retained: retained.join(), scriptRan: 'hacked' in window }
  })()`)) as AttackResults
    t.equal(visible.scriptRan, false)
    t.equal(visible.inline, 'TypeError', 'text is not parsed as HTML')
    t.equal(visible.foreign, 'TypeError')
    t.match(visible.violations, ['require-trusted-types-for'])
    t.notMatch(visible.retained, cookie!.value)
    t.notMatch(visible.retained, 'eyJ', 'no token')
  },
)
