import t from 'tap'
import type { Events } from '../../../sdk/events.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import {
  listTopics,
  openEventsDashboard,
  publishMany,
  take,
} from '../../fixtures/dashboard-events.ts'
import { openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

/** In all that publishers control. */
const SCRIPT = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>'

t.test('topics are listed with their groups and how far behind they are', async (t) => {
  const opened = await openEventsDashboard(t, '/events', async (events) => {
    await publishMany(events, 'orders', 5)
    await publishMany(events, 'quiet', 1)
    await take(events, 'orders', 'billing', 3)
  })
  if (opened === undefined) return
  const { page, events } = opened
  const row = page.getByRole('table', { name: 'Topics' }).getByRole('row', { name: /orders/ })
  await row.getByText('3 behind').waitFor()
  await page.getByRole('row', { name: /quiet/ }).getByText('–').waitFor()
  await checkAccessibility(t, page, 'events')
  await page.getByLabel('Search topics').fill('ord')
  await page.getByRole('link', { name: 'quiet' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'orders' }).click()
  await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor()

  await page.getByRole('tab', { name: 'Groups' }).click()
  await page
    .getByRole('row', { name: /billing/ })
    .getByText('3 behind')
    .waitFor()
  await checkAccessibility(t, page, 'events-groups')
  await page.getByRole('button', { name: 'Delete the group billing' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete the group billing?' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  t.match(await listTopics(events, { groups: true }), [{ groups: [{ group: 'billing' }] }, {}])
  await page.getByRole('button', { name: 'Delete the group billing' }).click()
  await dialog.getByRole('button', { name: 'Delete group' }).click()
  await page.getByText('No groups').waitFor()
  t.match(await listTopics(events, { groups: true }), [{ topic: 'orders', groups: [] }, {}])

  await page.getByRole('button', { name: 'Delete topic…' }).click()
  await page.getByText('Its 5 events and 0 groups are gone for good').waitFor()
  await page.getByRole('button', { name: 'Delete topic', exact: true }).click()
  await page.waitForURL('**/events')
  await page.getByRole('link', { name: 'quiet' }).waitFor()
  t.match(await listTopics(events), [{ topic: 'quiet' }])
})

t.test('messages are read a page at a time, and the newest page follows', async (t) => {
  const fill = (events: Events) => publishMany(events, 'orders', 250)
  const opened = await openEventsDashboard(t, '/events/orders', fill, { ownClock: true })
  if (opened === undefined) return
  const { page, events } = opened
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await button('Event 250').waitFor()
  await page.getByText('100 of 250 that are kept').waitFor()
  t.ok(await button('Newer').isDisabled())
  await events.publish('orders', { id: 251 })
  await page.clock.fastForward('00:10')
  await button('Event 251').waitFor()

  await button('Older').click()
  await button('Event 151').waitFor()
  await button('Older').click()
  await button('Event 100').waitFor()
  t.ok(await button('Older').isDisabled())
  await button('Newer').click()
  await button('Event 200').waitFor()

  await page.getByLabel('From').selectOption('sequence')
  await page.getByLabel('Sequence').fill('0')
  await button('Show').click()
  await page.getByText('a sequence is a whole number from 1 on').waitFor()
  await page.getByLabel('Sequence').fill('249')
  await button('Show').click()
  await page.getByText('3 of 251 that are kept').waitFor()
  await checkAccessibility(t, page, 'events-messages')
})

t.test('whatever an event says is shown, and nothing of it runs', async (t) => {
  const opened = await openEventsDashboard(t, '/events/orders', async (events) => {
    const metadata = { source: SCRIPT, [SCRIPT]: 'x' }
    await events.publish('orders', { [SCRIPT]: SCRIPT, big: 1 }, { metadata })
    await events.publish('orders', Buffer.from(SCRIPT))
    await events.publish('orders', Buffer.from([0, 255, 16]))
    await events.publish('orders', Buffer.from('{"id":12345678901234567890}'))
  })
  if (opened === undefined) return
  const { page } = opened
  const dialog = page.getByRole('dialog')
  const show = async (sequence: number): Promise<string | null> => {
    await page.getByRole('button', { name: `Event ${sequence}`, exact: true }).click()
    await page.getByRole('heading', { name: `Event ${sequence} of orders` }).waitFor()
    const text = await dialog.textContent()
    if (sequence === 1) await checkAccessibility(t, page, 'events-event')
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
    return text
  }
  const first = await show(1)
  t.ok(first?.includes(`${SCRIPT}x`), 'a name of metadata')
  t.ok(first?.includes(JSON.stringify(SCRIPT)))
  t.ok((await show(2))?.includes(SCRIPT))
  t.match(await show(3), /00 ff 10/)
  t.match(await show(4), /12345678901234567890/, 'no digit is lost')
  t.equal(await page.evaluate('window.wasRun'), undefined)
})

t.test('the pages fit a narrow screen', async (t) => {
  const server = await openServer(t)
  // Which the audit tells.
  await server.post('/auth/generate', { id: 'jane' })
  const opened = await openDashboard(t, { server, path: '/events', width: 360 })
  if (opened === undefined) return
  const { page } = opened
  for (const path of ['/events', '/events/auth', '/auth', '/auth?tab=rules', '/auth?tab=test']) {
    await page.goto(path)
    await page.getByRole('tabpanel').or(page.getByRole('table')).first().waitFor()
    const width = await page.evaluate('document.documentElement.scrollWidth')
    t.ok(Number(width) <= 360, `${path} is ${width} pixels wide`)
  }
  await checkAccessibility(t, page, 'auth-narrow')
})

t.test('whoever may not see events is told so, and who it is', async (t) => {
  const server = await openServer(t)
  await server.post('/auth/generate', { id: 'jane', secret: 'her secret' })
  const account = { id: 'jane', secret: 'her secret' }
  const opened = await openDashboard(t, { server, account, path: '/events' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByText('Forbidden: the list of topics (events Stream.Topics)').waitFor()
  await page.getByRole('alert').getByText('jane').waitFor()
  await checkAccessibility(t, page, 'events-forbidden')
  await page.goto('/events/orders')
  await page.getByText('Forbidden: the topic orders (events Stream.Topics)').waitFor()
  t.equal(await page.getByRole('button', { name: 'Delete topic…' }).count(), 0)
})
