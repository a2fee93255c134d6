import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard, openSharedServer } from '../../fixtures/dashboard.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const JANE = { id: 'jane', secret: 'her secret' }
const MINUTE_MS = 60_000

const logIn = async (page: Page, { id, secret }: typeof ADMIN, action: string): Promise<void> => {
  await page.getByRole('textbox', { name: 'Account' }).fill(id)
  await page.getByLabel('Password').fill(secret)
  await page.getByRole('button', { name: action }).click()
}
/** Resolves when the page has processed earlier responses. */
const settle = (page: Page): Promise<unknown> => page.evaluate('fetch("/session").then(() => 0)')
const getDialog = (page: Page) => page.getByRole('dialog', { name: 'Session expired' })
const getNamespace = (page: Page) => page.locator('.account input[name=namespace]')

for (const minutes of [20, -20])
  t.test(
    `renews the login in time if the clock of the browser is ${minutes} minutes off`,
    async (t) => {
      const opened = await openDashboard(t)
      if (opened === undefined) return
      const { page } = opened
      await page.clock.install({ time: Date.now() + minutes * MINUTE_MS })
      let renewals = 0
      page.on('request', (request) => {
        if (request.method() === 'POST' && new URL(request.url()).pathname === '/session')
          renewals++
      })
      await page.reload()
      await page.getByRole('button', { name: 'Log out' }).waitFor()
      await page.clock.fastForward('09:00')
      await settle(page)
      t.equal(renewals, 0)
      const renewed = page.waitForResponse((reply) => reply.request().method() === 'POST')
      await page.clock.fastForward('02:00')
      t.equal((await renewed).status(), 200)
    },
  )

t.test('ignores a response to an earlier session after a logout or another login', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, context, url } = opened
  await page.clock.install()
  await page.reload()
  await page.getByRole('button', { name: 'Log out' }).waitFor()
  const delayRenewal = (): Promise<Route> =>
    new Promise((resolve) => {
      void page
        .route('**/session', (route) => resolve(route), { times: 1 })
        .then(() => page.clock.fastForward('11:00'))
    })

  const renewal = await delayRenewal()
  t.equal(renewal.request().method(), 'POST')
  const reply = await renewal.fetch()
  t.equal(reply.status(), 200)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('button', { name: 'Log in' }).waitFor()
  await renewal.fulfill({ response: reply })
  await settle(page)
  t.equal(await page.getByRole('button', { name: 'Log in' }).count(), 1)

  await logIn(page, ADMIN, 'Log in')
  await page.getByText('Live', { exact: true }).waitFor()
  const rejected = await delayRenewal()
  t.equal(rejected.request().method(), 'POST')
  await context.request.post(`${url}/logout`, { headers: { origin: url } })
  await getDialog(page).waitFor()
  await logIn(page, ADMIN, 'Continue')
  await getDialog(page).waitFor({ state: 'detached' })
  const json = { Id: 'dashboard', Code: 401, Detail: 'not logged in', Status: '' }
  await rejected.fulfill({ status: 401, json })
  await settle(page)
  t.equal(await getDialog(page).count(), 0)
})

t.test('loads a page opened during an outage once the server is reachable again', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page } = opened
  await page.route('**/session', (route) => route.abort())
  await page.reload()
  await page.locator('[data-kind=unreachable]').waitFor()
  await page.unroute('**/session')
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
})

t.test('selects a namespace with Enter, and keeps it only for the same account', async (t) => {
  const server = await openSharedServer()
  await server.post('/auth/generate', { ...JANE, scopes: ['reader'] })
  const opened = await openDashboard(t, { server, path: '/services' })
  if (opened === undefined) return
  const { page, context, url } = opened
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  const namespace = getNamespace(page)
  await namespace.fill('ha')
  // Simulates another window that comes to the foreground.
  await namespace.dispatchEvent('blur')
  t.equal(await namespace.inputValue(), 'ha')
  await page.keyboard.press('Tab')
  t.equal(await namespace.inputValue(), 'mx', 'leaving the field restores the namespace')

  await namespace.fill('acme')
  await page.keyboard.press('Enter')
  await page.getByLabel('Search services').fill('acme')
  t.equal(await namespace.inputValue(), 'acme')
  await context.request.post(`${url}/logout`, { headers: { origin: url } })
  await getDialog(page).waitFor()
  await logIn(page, ADMIN, 'Continue')
  await getDialog(page).waitFor({ state: 'detached' })
  t.equal(await namespace.inputValue(), 'acme', 'the same account keeps its namespace')
  await context.request.post(`${url}/logout`, { headers: { origin: url } })
  await getDialog(page).waitFor()
  await logIn(page, JANE, 'Continue')
  await getDialog(page).waitFor({ state: 'detached' })
  t.equal(await namespace.inputValue(), 'mx')
})

t.test('shows an error until it is closed', async (t) => {
  const opened = await openDashboard(t, { path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  await page.clock.install()
  await page.route('**/logout', (route) => route.abort())
  const toast = page.getByText('Logout failed: the server is unreachable')
  for (let i = 0; i < 2; i++) {
    await page.getByRole('button', { name: 'Log out' }).click()
    await toast.waitFor()
  }
  await checkAccessibility(t, page, 'toast')
  await page.clock.fastForward('00:30')
  await settle(page)
  t.equal(await toast.count(), 1)
  await page.getByRole('button', { name: 'Close' }).click()
  await toast.waitFor({ state: 'detached' })
})

t.test('a page that polls recovers from a failed request', async (t) => {
  const server = await openServer(t)
  await server.post('/auth/generate', { ...JANE, scopes: ['reader', 'admin'] })
  const rule = {
    ...{ id: 'no', scope: 'reader', access: 'DENIED', priority: 1 },
    resource: { type: 'service', name: 'events', endpoint: '*' },
  }
  t.equal((await server.post('/auth/rules/create', { rule })).status, 200)
  const opened = await openDashboard(t, { server, account: JANE, path: '/events', mockClock: true })
  if (opened === undefined) return
  const forbidden = opened.page.locator('[data-kind=forbidden]')
  await forbidden.waitFor()
  t.equal((await server.post('/auth/rules/delete', { id: 'no' })).status, 200)
  await opened.page.clock.fastForward('00:10')
  await forbidden.waitFor({ state: 'detached' })
})

t.test('redirects to the login and returns to the requested page', async (t) => {
  const opened = await openDashboard(t, { account: undefined, path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('button', { name: 'Log in' }).waitFor()
  await checkAccessibility(t, page, 'login')

  await page.getByLabel('Account').fill(ADMIN.id)
  await page.getByLabel('Password').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByText('Wrong account, password or namespace.').waitFor()
  t.equal(await page.getByLabel('Account').inputValue(), ADMIN.id, 'the account field is preserved')
  t.equal(await page.getByLabel('Password').inputValue(), '')

  await page.getByLabel('Password').fill(ADMIN.secret)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  t.equal(new URL(page.url()).pathname, '/services')
})

t.test('renews the login in the background before it expires', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page } = opened
  await page.clock.install()
  await page.reload()
  await page.locator('nav').first().waitFor()
  const heading = await page.locator('main h1').first().textContent()
  const renewed = page.waitForResponse((reply) => {
    const request = reply.request()
    return request.method() === 'POST' && new URL(request.url()).pathname === '/session'
  })
  // Tokens are valid for 15 minutes.
  await page.clock.fastForward('11:00')
  const reply = await renewed
  t.equal(reply.status(), 200)
  t.match(await reply.json(), { account: { id: 'admin' }, namespace: 'mx' })
  t.equal(await reply.headerValue('set-cookie'), null)
  t.equal(await page.locator('main h1').first().textContent(), heading)
  t.equal(await page.getByRole('dialog').count(), 0)
})
