// What other pages of the same machine can make a browser do that is logged in: docs/dashboard.md, "Security".
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { logInBrowser, openBrowser } from '../../fixtures/dashboard.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

/** A page at another port: to a browser the same site, so that even strict cookies go along. */
async function openAttacker(t: Test): Promise<string> {
  const server = createServer((_, reply) => {
    reply.setHeader('content-type', 'text/html')
    reply.end('<!doctype html><title>attacker</title><body>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** A browser that is logged in as `admin`; undefined: there is none. */
async function open(
  t: Test,
): Promise<{ page: Page; context: BrowserContext; url: string } | undefined> {
  const browser = await openBrowser(t)
  if (browser === undefined) return undefined
  const { server } = await openServer(t, ['--web_origins=any', '--cors_origins=*'])
  const url = `http://127.0.0.1:${server.webAddress.port}`
  const context = await browser.newContext()
  t.teardown(() => context.close())
  await logInBrowser(context, url, ADMIN)
  return { context, url, page: await context.newPage() }
}

/** What scripts tried in a page, and what came of it: `done`, or the name of an error. */
interface Attempts {
  readonly inline: string
  readonly foreign: string
  /** Whether any of it ran. */
  readonly hacked: boolean
  /** Directives that were broken. */
  readonly told: readonly string[]
  /** All that scripts can read of what the browser keeps. */
  readonly kept: string
}

async function isLoggedIn({ request }: BrowserContext, url: string): Promise<boolean> {
  return (await request.get(`${url}/session`)).ok()
}

t.test('a page of another port neither logs out nor calls anything', async (t) => {
  const opened = await open(t)
  if (opened === undefined) return
  const { page, context, url } = opened
  await page.goto(await openAttacker(t))
  const result = await page.evaluate(`(async () => {
    const url = ${JSON.stringify(url)}
    const send = (path, init) =>
      fetch(url + path, { credentials: 'include', ...init }).then(
        (reply) => reply.status,
        () => 'no answer to read',
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
  t.match(result, { readable: 'no answer to read', session: 'no answer to read', socket: 1006 })
  t.ok(await isLoggedIn(context, url), 'still logged in')
})

t.test(
  'no script reads the session id or a token, and none runs but those of the dashboard',
  async (t) => {
    const opened = await open(t)
    if (opened === undefined) return
    const { page, context, url } = opened
    await page.goto(url)
    await page.locator('main').first().waitFor()
    const [cookie] = await context.cookies(url)
    t.match(cookie, { name: 'mx-dashboard', httpOnly: true, sameSite: 'Strict', path: '/' })
    const seen = (await page.evaluate(`(async () => {
    const told = []
    document.addEventListener('securitypolicyviolation', (event) => told.push(event.effectiveDirective))
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
    while (!told.includes('connect-src')) await new Promise(requestAnimationFrame)
    const kept = [document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)]
    return { inline, handler, link, foreign, told, kept: kept.join(), hacked: 'hacked' in window }
  })()`)) as Attempts
    t.equal(seen.hacked, false)
    t.equal(seen.inline, 'TypeError', 'text does not become HTML')
    t.equal(seen.foreign, 'TypeError')
    t.match(seen.told, ['require-trusted-types-for'])
    t.notMatch(seen.kept, cookie!.value)
    t.notMatch(seen.kept, 'eyJ', 'no token')
  },
)
