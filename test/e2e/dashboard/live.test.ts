import type { Page } from 'playwright-core'
import t from 'tap'
import { createStore } from '../../../sdk/store.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openEventsDashboard, publishMany } from '../../fixtures/dashboard-events.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { openHeld } from '../../fixtures/held-connection.ts'
import { startMirror } from '../../fixtures/mirror-service.ts'
import { openClient } from '../../fixtures/sdk-services.ts'

t.setTimeout(120_000)

const NODE = { id: 'first', address: '127.0.0.1:1' }
/** Notes in the page all that its state of the replay has been. */
const NOTE_STATES = `(() => {
  const place = document.querySelector('form [role=status]')
  const states = (window.states = [])
  const note = () => states.push(place.dataset.state + ': ' + place.textContent)
  new MutationObserver(note).observe(place, {
    ...{ attributes: true, characterData: true, childList: true, subtree: true },
  })
})()`
/** Has whatever is due in the page done. */
const settle = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 50))')

t.test('a stream is live once the service says so, whatever the one before was', async (t) => {
  const opened = await openEventsDashboard(t, '/', (events) => publishMany(events, 'orders', 2))
  if (opened === undefined) return
  const held = await openHeld(opened.context, '/events/orders?tab=replay')
  const { page } = held
  await page.getByLabel('From').selectOption('oldest')
  await page.getByRole('button', { name: 'Begin', exact: true }).click()
  await page.getByText('2 events, live').waitFor()
  held.hold()
  await page.evaluate(NOTE_STATES)
  await page.getByRole('button', { name: 'Begin anew', exact: true }).click()
  await eventually(async () => held.hasCalled('Stream.Consume'))
  await settle(page)
  t.strictSame(await page.evaluate('states.filter((state) => state.includes("live"))'), [])
  held.release()
  await page.getByText('2 events, live').waitFor()
})

t.test('what a page missed while it was not connected is read again', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { server, context } = opened
  const client = openClient(t, { proxy: server.proxy, token: server.token })
  const store = createStore(client, { table: 'missed' })
  await store.write('ann', 'one')
  const register = (id: string): Promise<unknown> =>
    server.post('/registry/register', { name: 'shop', nodes: [{ ...NODE, id }] })
  await register('first')
  const records = await openHeld(context, '/store?table=missed')
  const service = await openHeld(context, '/services/shop?tab=nodes')
  await records.page.getByRole('button', { name: 'ann', exact: true }).waitFor()
  await service.page.getByRole('rowheader', { name: 'first' }).waitFor()
  // Past what is read when a watch begins.
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

t.test(
  'a stream is open once there is a connection for it, and has sent nothing before',
  async (t) => {
    const opened = await openDashboard(t)
    if (opened === undefined) return
    await startMirror(t, opened.server)
    const held = await openHeld(opened.context, '/services/mirror?endpoint=Stream.Echo')
    const { page } = held
    const stream = page.getByRole('region', { name: 'Stream', exact: true })
    await page.locator('[data-path="request.text"] textarea').fill('early')
    await held.cut(true)
    await page.getByText('Stale', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Open and send', exact: true }).click()
    await stream.getByText('waiting for a connection', { exact: true }).waitFor()
    t.equal(await stream.getByText('↑ sent').count(), 0)
    held.restore()
    await stream.getByText('{"echo":"early"}').waitFor()
    await stream.getByText('open', { exact: true }).waitFor()
    t.equal(await stream.getByText('↑ sent').count(), 1)
  },
)

t.test(
  'a connection that is dead without a sign is given up, and another one opened',
  async (t) => {
    const opened = await openDashboard(t)
    if (opened === undefined) return
    const { server, context } = opened
    const held = await openHeld(context, '/services')
    const { page } = held
    await page.clock.install()
    await page.reload()
    await page.getByRole('rowheader', { name: 'registry' }).waitFor()
    const before = held.count()
    held.hold()
    await page.clock.runFor('01:00')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Stale', { exact: true }).first().waitFor({ state: 'detached' })
    t.equal(held.count(), before + 1)
    await server.post('/registry/register', { name: 'shop', nodes: [NODE] })
    await page.getByRole('rowheader', { name: 'shop' }).waitFor()
  },
)
