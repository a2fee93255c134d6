import t from 'tap'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { waitForValue } from '../../fixtures/becomes.ts'
import { openDashboard, openSharedServer } from '../../fixtures/dashboard.ts'
import { watchWork } from '../../fixtures/page-work.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const JANE = { id: 'jane', secret: 'her secret' }
/** Number of scroll steps, and the maximum time of each. */
const FRAMES = 60
const FRAME_MAX_MS = 50
/** Markup that must be rendered as text. */
const HOSTILE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>'

t.test('supports skip link, navigation and theme by keyboard', async (t) => {
  const opened = await openDashboard(t, { path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await waitForValue(t, () => page.evaluate('document.activeElement.id'), 'content')

  await page.getByRole('link', { name: 'Overview' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  const focused = () => page.evaluate('document.activeElement.tagName')
  await waitForValue(t, focused, 'H1', 'screen readers announce the page')
  await waitForValue(t, () => page.title(), 'Overview · mx')
  await page.goBack()
  await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()

  const background = (): Promise<string> =>
    page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  const light = await background()
  await page.getByRole('button', { name: 'Theme: system' }).focus()
  await page.keyboard.press('Enter')
  t.equal(await background(), light)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  t.not(await background(), light)
  await page.reload()
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  t.not(await background(), light, 'the theme is persisted')
})

t.test('a narrow screen shows the navigation in a menu and fits its width', async (t) => {
  const opened = await openDashboard(t, { path: '/services', width: 360 })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth'),
    360,
    'the page fits the width',
  )
  await page.getByRole('button', { name: 'Menu' }).click()
  await checkAccessibility(t, page, 'narrow-menu')
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Overview' }).waitFor({ state: 'hidden' })
  await page.getByText('Built-in services').click()
  await page.locator('[data-service=store]').getByText('Healthy').waitFor()
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360)
  await checkAccessibility(t, page, 'narrow-overview')
})

t.test('shows endpoint and account of a denied request', async (t) => {
  const server = await openSharedServer()
  await server.post('/auth/generate', { ...JANE, scopes: ['reader'] })
  const rule = {
    ...{ id: 'no', scope: 'reader', access: 'DENIED', priority: 1 },
    resource: { type: 'service', name: 'api', endpoint: '*' },
  }
  t.equal((await server.post('/auth/rules/create', { rule })).status, 200)
  const opened = await openDashboard(t, { server, account: JANE })
  if (opened === undefined) return
  const { page } = opened
  const problem = page.locator('[data-kind=forbidden]')
  await problem.getByText('api Api.Stats').waitFor()
  t.match(await problem.textContent(), /Account jane/)
  await page.getByText('Built-in services').click()
  await page.locator('[data-service=store]').getByText('Healthy').waitFor()
  await checkAccessibility(t, page, 'forbidden')
})

t.test('renders metadata of services as text', async (t) => {
  const server = await openSharedServer()
  const registered = await server.post('/registry/register', {
    name: 'hostile',
    version: '<b>1</b>',
    metadata: { description: HOSTILE, [HOSTILE]: HOSTILE },
    endpoints: [{ name: HOSTILE.replaceAll(' ', '/'), metadata: { description: HOSTILE } }],
    nodes: [{ id: '<i>n</i>', address: '127.0.0.1:1', metadata: { [HOSTILE]: HOSTILE } }],
  })
  t.equal(registered.status, 200, JSON.stringify(registered.body))
  const opened = await openDashboard(t, { server, path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('row', { name: 'hostile' }).getByText(HOSTILE).waitFor()
  await page.getByText('<b>1</b>').waitFor()
  const isText = async (): Promise<void> => {
    t.equal(await page.evaluate('window.broken'), undefined)
    t.equal(await page.locator('main img, main script, main i').count(), 0)
  }
  await isText()
  await page.goto('/services/hostile')
  await page.getByRole('tab', { name: 'Nodes' }).click()
  await page.getByRole('rowheader', { name: '<i>n</i>' }).waitFor()
  await page.getByText(`${HOSTILE}=${HOSTILE}`).waitFor()
  await isText()
  await page.getByRole('tab', { name: 'Metadata' }).click()
  await page.getByRole('term').filter({ hasText: HOSTILE }).waitFor()
  await isText()
})

t.test('1,000 services scroll smoothly: only visible ones are rendered', async (t) => {
  const server = await openServer(t)
  const client = openClient(t, { proxy: server.proxy, token: server.token })
  const register = (i: number): Promise<unknown> =>
    client.call('registry', 'Registry.Register', {
      name: `service-${i}`,
      nodes: [{ id: `node-${i}`, address: `10.0.0.1:${1000 + i}` }],
    })
  for (let at = 0; at < 1000; at += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => register(at + i)))
  const opened = await openDashboard(t, { server, path: '/services' })
  if (opened === undefined) return
  const { page, context } = opened
  await page.getByRole('rowheader', { name: 'api', exact: true }).waitFor()
  await page.getByText('1,009 services').waitFor()
  t.ok((await page.getByRole('row').count()) < 100, 'few rows are rendered')
  await page.getByRole('region', { name: 'Services' }).focus()
  await page.keyboard.press('End')
  await page.getByRole('rowheader', { name: 'store', exact: true }).waitFor()
  t.equal(await page.getByRole('table').getAttribute('aria-rowcount'), '1010')
  const readWorkMs = await watchWork(context, page)
  await page.evaluate(`(async () => {
    const scroller = document.querySelector('.table-scroll')
    for (let i = 0; i < ${FRAMES}; i++) {
      scroller.scrollTop = (scroller.scrollHeight / ${FRAMES}) * i
      await new Promise(requestAnimationFrame)
    }
  })()`)
  const frameMs = (await readWorkMs()) / FRAMES
  t.ok(frameMs <= FRAME_MAX_MS, `a frame takes ${frameMs.toFixed(1)} ms of the main thread`)

  await page.getByLabel('Search services').fill('nothing like it')
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.getByRole('region', { name: 'Services' }).focus()
  await page.keyboard.press('End')
  await page.getByRole('rowheader', { name: 'store', exact: true }).waitFor()

  await page.getByLabel('Search services').fill('node-999')
  await page.getByRole('rowheader', { name: 'service-999' }).waitFor()
  t.equal(await page.getByRole('rowheader').count(), 1)
})

t.test('shows an error for an unknown page; logging out leads to the login', async (t) => {
  const opened = await openDashboard(t, { path: '/no/such/page' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('button', { name: 'Log in' }).waitFor()
  await page.reload()
  await page.getByRole('textbox', { name: 'Account' }).fill(ADMIN.id)
})

t.test('the overview shows the gateway, user services, and built-in ones collapsed', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  const shop = createService(t, { name: 'shop', proxy: server.proxy, auth: ADMIN })
  shop.handle('Shop', { find: endpoint({ handle: () => ({}) }) })
  await shop.start()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.getByText('Requests per second').first().waitFor()
  const builtIn = page.locator('[data-service=registry]')
  await builtIn.waitFor({ state: 'attached' })
  t.notOk(await builtIn.isVisible())
  await page.getByText('9 healthy').waitFor()
  await page.getByText('Built-in services').click()
  for (const name of ['registry', 'auth', 'store', 'api'])
    await page.locator(`[data-service=${name}]`).getByText('Healthy').waitFor()

  const number = page.locator('.number', { hasText: 'Requests per second' }).locator('dd')
  t.match(await number.textContent(), /^[\d.]+$/)
  for (let i = 0; i < 40; i++) t.equal((await server.get('/shop/find')).status, 200)
  await number.filter({ hasText: /^(?:[1-9]|0[.][3-9])/ }).waitFor()
  const table = page.getByRole('table', { name: 'Services of the namespace' })
  const row = table.getByRole('row').filter({ hasText: 'shop' })
  await row.getByText('0.0 %').waitFor()
  const cells = await row.getByRole('cell').allTextContents()
  t.match(cells, ['1', /^(?:[1-9]|0\.[1-9])/, '0.0 %', /ms$/, /ms$/])
  t.strictSame(
    (await table.getByRole('rowheader').allTextContents()).filter((name) => name === 'registry'),
    [],
  )
  await checkAccessibility(t, page, 'overview')

  const chart = page.getByRole('slider', { name: /^Latency/ })
  await chart.locator('canvas').waitFor({ state: 'attached' })
  const tooltip = chart.locator('.chart-tooltip')
  await chart.focus()
  await page.keyboard.press('ArrowLeft')
  await tooltip.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/).waitFor()
  t.match(await chart.getAttribute('aria-valuetext'), /^\d\d:\d\d:\d\d: p99 .+, p50 .+$/)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).click()
  await tooltip.waitFor({ state: 'detached' })
  await chart.hover()
  await tooltip.getByText('p99').waitFor()
})

t.test('lists, searches, sorts and opens services', async (t) => {
  const opened = await openDashboard(t, { path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page
    .getByRole('row', { name: 'registry' })
    .getByText('Registered services and their nodes')
    .waitFor()
  await checkAccessibility(t, page, 'services')
  const names = (): Promise<string[]> => page.getByRole('rowheader').allTextContents()
  const first = (await names())[0]
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  t.equal((await names()).at(-1), first, 'reversed')
  await page.getByLabel('Search services').fill('registry.listservices')
  await page.getByRole('rowheader').nth(1).waitFor({ state: 'detached' })
  t.same(await names(), ['registry'])
  t.match(page.url(), 'search=registry.listservices', 'the URL contains the search')
  await page.keyboard.press('Tab')
  await page.getByRole('link', { name: 'registry' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'registry', level: 1 }).waitFor()
})
