import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const SCRIPT = '<img src=x onerror="window.wasRun=true">'
const MEMBER = { id: 'reader', secret: 'a secret that is long', scopes: ['reader'] }

t.test('the gateway page', async (t) => {
  const opened = await openDashboard(t, { path: '/gateway' })
  if (opened === undefined) return
  const { page, server } = opened
  const shop = createService(t, { name: 'shop', proxy: server.proxy, auth: ADMIN })
  shop.handle('Shop', {
    find: endpoint({ http: { method: 'GET', path: '/items/{id}' }, handle: () => ({}) }),
  })
  await shop.start()
  const table = page.getByRole('table', { name: 'Routes' })
  const row = (text: string) => table.getByRole('row').filter({ hasText: text })

  await t.test('lists declared routes and routes by name', async (t) => {
    await page.reload()
    await page.getByText('resolver endpoint').waitFor()
    await page.getByLabel('Search routes').fill('shop')
    await row('/items/{id}').getByText('declared').waitFor()
    await row('/items/{id}').getByText('GET').waitFor()
    await row('/shop/find').getByText('by name', { exact: true }).waitFor()
    t.equal(await table.getByRole('row').count(), 3, 'including the headings')
    await checkAccessibility(t, page, 'gateway-routes')
    await page.getByLabel('Search routes').fill('no such route')
    await page.getByText('No routes match “no such route”').waitFor()
    await page.getByLabel('Search routes').fill('shop')
    await row('/shop/find').getByRole('link', { name: 'shop' }).click()
    await page.waitForURL('**/services/shop')
  })

  await t.test('renders data of services as text', async (t) => {
    const metadata = { path: SCRIPT }
    const service = {
      ...{ name: 'xss', nodes: [{ id: 'a', address: '127.0.0.1:1' }] },
      endpoints: [{ name: 'Xss.Run', metadata }],
    }
    t.match(await server.post('/registry/register', service), { status: 200 })
    await page.goto('/gateway')
    await page.getByText('1 declared route skipped').click()
    await page.getByText('ignored path ').waitFor()
    t.equal(await page.evaluate('window.wasRun'), undefined)
    t.equal(await page.locator('main img').count(), 0)
  })

  await t.test('shows the chain in order, with options', async (t) => {
    await page.getByRole('tab', { name: 'Plugins' }).click()
    const plugins = page.getByRole('list', { name: 'Plugins in order of execution' })
    await plugins.getByRole('heading', { name: 'auth', exact: true }).waitFor()
    const names = await plugins.getByRole('heading').allTextContents()
    t.ok(names.indexOf('request-id') < names.indexOf('auth'))
    await plugins.getByText('Options of auth').click()
    await plugins.getByText('"forwardToken"').waitFor()
    await checkAccessibility(t, page, 'gateway-plugins')
  })

  await t.test('lists failed requests', async (t) => {
    t.equal((await server.get(`/nowhere/${encodeURIComponent(SCRIPT)}?token=x`)).status, 404)
    await page.getByRole('tab', { name: 'Requests' }).click()
    const requests = page.getByRole('table', { name: 'Requests' })
    await requests.getByText('GET /nowhere/').waitFor()
    t.match(await requests.textContent(), /404/)
    t.notMatch(await requests.textContent(), /token/)
    await checkAccessibility(t, page, 'gateway-requests')
  })

  await t.test('explains the handling of a request', async (t) => {
    await page.getByRole('tab', { name: 'Explain' }).click()
    const explain = page.getByRole('button', { name: 'Explain' })
    const path = page.getByLabel('Path')
    const explanation = page.getByRole('region', { name: 'Explanation' })
    await path.fill('no slash')
    await page.getByRole('textbox', { name: 'Headers' }).fill('nothing')
    await explain.click()
    await page.getByText('A path must start with /').waitFor()
    await page.getByText('line 1 must be "Name: value"').waitFor()
    t.equal(await path.inputValue(), 'no slash', 'the input is preserved')
    await path.fill('/items/7')
    await page.getByRole('textbox', { name: 'Headers' }).fill('X-Test: 1')
    await explain.click()
    await explanation.getByText('forwarded', { exact: true }).waitFor()
    await explanation.getByText('shop Shop.Find').waitFor()
    await explanation.getByText('id=7').waitFor()
    await explanation.getByText('by rule default').waitFor()
    t.match(await explanation.textContent(), /Calleradmin/)
    await checkAccessibility(t, page, 'gateway-explain')
    await path.fill(`/shopp/${SCRIPT.replaceAll(' ', '%20')}`)
    await explain.click()
    await explanation.getByText('did you mean').or(explanation.getByText('404')).first().waitFor()
    t.equal(await page.evaluate('window.wasRun'), undefined)
    await page.getByRole('tab', { name: 'Routes' }).click()
    await page.getByRole('tab', { name: 'Explain' }).click()
    t.match(await path.inputValue(), /^\/shopp\//, 'the input is preserved across tabs')
  })

  await t.test('fits the width of a phone', async (t) => {
    for (const path of [
      '/gateway',
      '/gateway?tab=chain',
      '/gateway?tab=requests',
      '/gateway?tab=explain',
      '/network',
    ]) {
      await page.setViewportSize({ width: 360, height: 700 })
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      const loading = page.getByRole('status').filter({ hasText: 'Loading' })
      await loading.first().waitFor({ state: 'detached' })
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, path)
    }
  })

  await t.test('shows members the parts that require administrator rights', async (t) => {
    const { id, secret, scopes } = MEMBER
    t.equal((await server.post('/auth/generate', { id, secret, scopes })).status, 200)
    const other = await openDashboard(t, { server, account: { id, secret }, path: '/gateway' })
    if (other === undefined) return
    await other.page.getByRole('table', { name: 'Routes' }).waitFor()
    await other.page.getByRole('tab', { name: 'Plugins' }).click()
    await other.page.getByText('Forbidden: gateway plugins').waitFor()
    await other.page.getByText('reader', { exact: true }).first().waitFor()
  })
})

const ROUTES = `
listen: [{ name: first, address: "127.0.0.1:0" }, { name: second, address: "127.0.0.1:0" }]
services:
  shop: { nodes: [127.0.0.1:1], plugins: [body-limit] }
routes:
  - name: shop-api
    match: { host: "*.shop.test", path: "/api/{id}/**", method: POST, headers: { x-beta: "1" } }
    service: shop
    handler: proxy
    strip_prefix: /api
    plugins: [ redirect-https ]
  - { match: { path: /healthz }, respond: { body: ok } }
  - name: internal
    match: { path: "/{name=inside/*}", client: 192.0.2.0/24 }
    listeners: [second]
    service: shop
    rewrite: { host: shop.internal }
`

t.test('lists configured routes, and explains a request of a row', async (t) => {
  const file = join(makeTempFolder(t, 'dashboard'), 'mx.yaml')
  writeFileSync(file, ROUTES)
  const opened = await openDashboard(t, { path: '/gateway', flags: [`--config=${file}`] })
  if (opened === undefined) return
  const { page } = opened
  const table = page.getByRole('table', { name: 'Configured routes' })
  const row = (text: string) => table.getByRole('row').filter({ hasText: text })
  await row('/healthz').getByText('respond 200').waitFor()
  await checkAccessibility(t, page, 'gateway-configured-routes')
  await page.getByLabel('Search configured routes').fill('shop.test')
  await row('/healthz').waitFor({ state: 'detached' })
  await row('shop-api').getByText('redirect-https (route)').waitFor()
  await row('shop-api').getByText('body-limit (service)').waitFor()
  await row('shop-api').getByRole('button', { name: 'Explain' }).click()
  t.equal(await page.getByLabel('Path').inputValue(), '/api/id')
  t.match(
    await page.getByRole('textbox', { name: 'Headers' }).inputValue(),
    'Host: a.shop.test\nx-beta: 1',
  )
  await page.getByRole('button', { name: 'Explain' }).click()
  const explanation = page.getByRole('region', { name: 'Explanation' })
  await explanation.getByText('by route shop-api').waitFor()
  await explanation.getByText('redirect-https onRequest (route)').waitFor()
  await explanation.getByText(/^mx\.yaml:11:\d+$/).waitFor()

  await page.getByRole('tab', { name: 'Routes' }).click()
  await page.getByLabel('Search configured routes').fill('')
  await row('internal').getByRole('button', { name: 'Explain' }).click()
  t.equal(await page.getByLabel('Path').inputValue(), '/inside/a')
  t.equal(await page.getByLabel('Client address').inputValue(), '192.0.2.0')
  t.equal(await page.getByLabel('Listener').inputValue(), 'second')
  await page.getByRole('button', { name: 'Explain' }).click()
  await explanation.getByText('by route internal').waitFor()
  await explanation.getByText('/inside/a at shop.internal').waitFor()
  await checkAccessibility(t, page, 'gateway-explain-connection')
})

t.test('shows a server without links', async (t) => {
  const opened = await openDashboard(t, { path: '/network', flags: ['--server_id=alone'] })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('img', { name: '1 server and 0 links, alone in the center' }).waitFor()
  await page.getByText('No links').waitFor()
  await page.getByText('No remote services').waitFor()
  await page.getByLabel('Show local services').check()
  await page.getByRole('row').filter({ hasText: 'registry' }).getByText('local').waitFor()
})

t.test('draws linked servers with their services', async (t) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const shared = ['--network_token=s3cret-of-a-network', `--auth_private_key=${key}`]
  const one = await openServer(t, [...shared, '--server_id=one'])
  const opened = await openDashboard(t, {
    path: '/network',
    flags: [...shared, `--network_nodes=${one.proxy}`, '--server_id=two'],
    mockClock: true,
  })
  if (opened === undefined) return
  const { page, server } = opened
  const greeter = createService(t, { name: 'greeter', proxy: one.proxy, auth: ADMIN })
  greeter.handle('Greeter', { hello: endpoint({ handle: () => ({ message: 'Hello' }) }) })
  await greeter.start()
  const responses = async () => (await server.get('/greeter/hello')).status === 200
  await eventually(responses)
  await page.clock.fastForward('00:05')

  await page.getByRole('img', { name: '2 servers and 1 link, two in the center' }).waitFor()
  const drawing = page.getByRole('region', { name: 'Network graph' })
  t.strictSame((await drawing.locator('text').allTextContents()).sort(), ['one', 'two'])
  const link = page
    .getByRole('table', { name: 'Links' })
    .getByRole('row')
    .filter({ hasText: 'one' })
  await link.getByText('linked', { exact: true }).waitFor()
  await drawing.locator('.link.down').waitFor({ state: 'detached' })
  const services = page.getByRole('table', { name: 'Services of the network' })
  await services.getByRole('row').filter({ hasText: 'greeter' }).getByText('one').first().waitFor()
  await page.getByRole('table', { name: 'Servers' }).getByText('this server').waitFor()
  await checkAccessibility(t, page, 'network')

  await one.server.close()
  await eventually(async () => !(await responses()))
  await page.clock.fastForward('00:05')
  await link.getByText('waiting', { exact: true }).or(link.getByText('connecting')).waitFor()
  await services.waitFor({ state: 'detached' })
})
