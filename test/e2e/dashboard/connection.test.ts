import type { Page, WebSocketRoute } from 'playwright-core'
import t from 'tap'
import { createStore } from '../../../sdk/store/store.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openEventsDashboard, publishEvents } from '../../fixtures/dashboard-events.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { startMirror } from '../../fixtures/mirror-service.ts'
import { openClient } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'
import { openStalled } from '../../fixtures/stalled-connection.ts'

t.setTimeout(120_000)

const NODE = { id: 'first', address: '127.0.0.1:1' }
/** Records in the page all states of the replay. */
const NOTE_STATES = `(() => {
  const place = document.querySelector('form [role=status]')
  const states = (window.states = [])
  const note = () => states.push(place.dataset.state + ': ' + place.textContent)
  new MutationObserver(note).observe(place, {
    ...{ attributes: true, characterData: true, childList: true, subtree: true },
  })
})()`
/** Runs pending timers in the page. */
const settle = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 50))')

t.test('shows a stream as live once the service confirms it', async (t) => {
  const opened = await openEventsDashboard(t, '/', (events) => publishEvents(events, 'orders', 2))
  if (opened === undefined) return
  const pending = await openStalled(opened.context, '/events/orders?tab=replay')
  const { page } = pending
  await page.getByLabel('From').selectOption('oldest')
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('2 events, live').waitFor()
  pending.pause()
  await page.evaluate(NOTE_STATES)
  await page.getByRole('button', { name: 'Restart', exact: true }).click()
  await eventually(async () => pending.hasCalled('Stream.Consume'))
  await settle(page)
  t.strictSame(await page.evaluate('states.filter((state) => state.includes("live"))'), [])
  pending.release()
  await page.getByText('2 events, live').waitFor()
})

t.test('reloads changes after a disconnection', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { server, context } = opened
  const client = openClient(t, { proxy: server.proxy, token: server.token })
  const store = createStore(client, { table: 'missed' })
  await store.write('ann', 'one')
  const register = (id: string): Promise<unknown> =>
    server.post('/registry/register', { name: 'shop', nodes: [{ ...NODE, id }] })
  await register('first')
  const records = await openStalled(context, '/store?table=missed')
  const service = await openStalled(context, '/services/shop?tab=nodes')
  await records.page.getByRole('button', { name: 'ann', exact: true }).waitFor()
  await service.page.getByRole('rowheader', { name: 'first' }).waitFor()
  // Runs after the initial read of the watch.
  await store.write('bob', 'two')
  await records.page.getByRole('button', { name: 'bob', exact: true }).waitFor()
  await register('second')
  await service.page.getByRole('rowheader', { name: 'second' }).waitFor()

  await Promise.all([records.cut(true), service.cut(true)])
  await records.page.getByText('Stale', { exact: true }).first().waitFor()
  await service.page.getByText('Stale', { exact: true }).first().waitFor()
  await store.write('carl', 'three')
  await register('third')
  records.restore()
  service.restore()
  await records.page.getByRole('button', { name: 'carl', exact: true }).waitFor()
  await service.page.getByRole('rowheader', { name: 'third' }).waitFor()
})

t.test('opens a stream once connected and sends nothing before', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  await startMirror(t, opened.server)
  const stalled = await openStalled(opened.context, '/services/mirror?endpoint=Stream.Echo')
  const { page } = stalled
  const stream = page.getByRole('region', { name: 'Stream', exact: true })
  await page.locator('[data-path="request.text"] textarea').fill('early')
  await stalled.cut(true)
  await page.getByText('Stale', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Open and send', exact: true }).click()
  await stream.getByText('connecting', { exact: true }).waitFor()
  t.equal(await stream.getByText('↑ sent').count(), 0)
  stalled.restore()
  await stream.getByText('{"echo":"early"}').waitFor()
  await stream.getByText('open', { exact: true }).waitFor()
  t.equal(await stream.getByText('↑ sent').count(), 1)
})

t.test('replaces a connection that died silently', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { server, context } = opened
  const stalled = await openStalled(context, '/services')
  const { page } = stalled
  await page.clock.install()
  await page.reload()
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  const before = stalled.count()
  stalled.pause()
  await page.clock.runFor('01:00')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByText('Stale', { exact: true }).first().waitFor({ state: 'detached' })
  t.equal(stalled.count(), before + 1)
  await server.post('/registry/register', { name: 'store-front', nodes: [NODE] })
  await page.getByRole('rowheader', { name: 'store-front' }).waitFor()
})

t.test('continues a confirmed action when its dialog closes, and reports a failure', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { context, server } = opened
  const { status } = await server.post('/config/set', { path: 'shop', value: { data: '1' } })
  t.equal(status, 200)
  const page = await context.newPage()
  const sockets: WebSocketRoute[] = []
  let isBuffering = false
  await page.routeWebSocket('**/.mx/rpc', (socket) => {
    const responses = socket.connectToServer()
    responses.onMessage((message) => {
      if (!isBuffering) socket.send(message)
    })
    sockets.push(socket)
  })
  await page.goto('/config?path=shop')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Delete' }).click()
  isBuffering = true
  await dialog.getByRole('button', { name: 'Delete' }).click()
  const close = dialog.getByRole('button', { name: 'Close' })
  await close.waitFor()
  t.equal(await dialog.getByRole('button', { name: 'Cancel' }).count(), 0)
  await close.click()
  await dialog.waitFor({ state: 'detached' })
  isBuffering = false
  await sockets.at(-1)!.close()
  await page.getByText('Delete shop? Failed: the connection was lost').waitFor()
})

t.test('marks the page stale while the server is unreachable and resumes afterwards', async (t) => {
  const first = await openServer(t)
  const opened = await openDashboard(t, { server: first, path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  await page.getByLabel('Search services').fill('reg')

  await first.server.close()
  await page.getByText('Stale', { exact: true }).first().waitFor()
  await page.getByText('Server unreachable, reconnecting.').waitFor()
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  await checkAccessibility(t, page, 'stale')

  const { port } = first.server.webAddress
  const second = await openServer(t, [`--web_address=127.0.0.1:${port}`])
  // The session is unknown to another server.
  await page.getByRole('dialog', { name: 'Session expired' }).waitFor()
  await checkAccessibility(t, page, 'login-ended')
  t.equal(await page.getByRole('textbox', { name: 'Account' }).inputValue(), ADMIN.id)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await page.getByLabel('Password').fill(ADMIN.secret)
  await page.keyboard.press('Enter')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByText('Stale', { exact: true }).waitFor({ state: 'detached' })
  t.equal(await page.getByLabel('Search services').inputValue(), 'reg', 'the input is preserved')

  const node = { id: 'n1', address: '127.0.0.1:1' }
  await second.post('/registry/register', { name: 'regular', nodes: [node] })
  await page.getByRole('rowheader', { name: 'regular' }).waitFor()
  await second.post('/registry/deregister', { name: 'regular', nodes: [node] })
  await page.getByRole('rowheader', { name: 'regular' }).waitFor({ state: 'detached' })
})

t.test('shows nothing of the previous account after a login without a reload', async (t) => {
  const server = await openServer(t)
  const jane = { id: 'jane', secret: 'her secret' }
  await server.post('/auth/generate', { ...jane, scopes: ['reader'] })
  const rule = {
    ...{ id: 'no', scope: 'reader', access: 'DENIED', priority: 1 },
    resource: { type: 'service', name: 'registry', endpoint: '*' },
  }
  t.equal((await server.post('/auth/rules/create', { rule })).status, 200)
  const opened = await openDashboard(t, { server, path: '/services' })
  if (opened === undefined) return
  const { page, context, url } = opened
  await page.getByRole('rowheader', { name: 'registry' }).waitFor()
  await context.request.post(`${url}/logout`, { headers: { origin: url } })
  await page.getByRole('dialog', { name: 'Session expired' }).waitFor()
  await page.getByRole('textbox', { name: 'Account' }).fill(jane.id)
  await page.getByLabel('Password').fill(jane.secret)
  await page.keyboard.press('Enter')
  await page.locator('[data-kind=forbidden]').first().waitFor()
  t.equal(await page.getByRole('rowheader').count(), 0)
})
