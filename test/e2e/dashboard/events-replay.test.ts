import type { WebSocketRoute } from 'playwright-core'
import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import {
  listTopics,
  openEventsDashboard,
  publishMany,
  take,
} from '../../fixtures/dashboard-events.ts'

t.setTimeout(120_000)

t.test('a replay begins anywhere, goes on with what is new, and no group notices', async (t) => {
  const opened = await openEventsDashboard(t, '/events/orders?tab=replay', async (events) => {
    await publishMany(events, 'orders', 4)
    await take(events, 'orders', 'billing', 2)
  })
  if (opened === undefined) return
  const { page, events } = opened
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await page.getByLabel('From').selectOption('sequence')
  await page.getByLabel('Sequence').fill('3')
  await button('Begin').click()
  await page.getByText('2 events, live').waitFor()
  await events.publish('orders', { id: 5 })
  await page.getByText('3 events, live').waitFor()
  await button('Event 5').waitFor()
  t.equal(await button('Event 2').count(), 0)
  await checkAccessibility(t, page, 'events-replay')
  t.match(await listTopics(events, { groups: true }), [
    { groups: [{ group: 'billing', acked: 1 }] },
  ])

  await page.getByLabel('From').selectOption('oldest')
  await button('Begin anew').click()
  await page.getByText('5 events, live').waitFor()
  await button('Stop').click()
  await page.getByText('5 events, stopped').waitFor()
  await events.publish('orders', { id: 6 })
  await button('Begin anew').waitFor({ state: 'detached' })
  await page.getByLabel('From').selectOption('new')
  await button('Begin').click()
  await page.getByText('Waiting for events, live').waitFor()
  await events.deleteTopic('orders')
  await page.getByText('the topic orders was deleted').waitFor()
})

t.test('a replay goes on behind the last event it had when the connection breaks', async (t) => {
  const opened = await openEventsDashboard(t, '/', (events) => publishMany(events, 'orders', 2))
  if (opened === undefined) return
  const { context, events } = opened
  const page = await context.newPage()
  const sockets: WebSocketRoute[] = []
  let isDown = false
  await page.routeWebSocket('**/.mx/rpc', (socket) => {
    if (isDown) return void socket.close()
    socket.connectToServer()
    sockets.push(socket)
  })
  await page.goto('/events/orders?tab=replay')
  await page.getByLabel('From').selectOption('oldest')
  await page.getByRole('button', { name: 'Begin', exact: true }).click()
  await page.getByText('2 events, live').waitFor()
  await sockets.at(-1)!.close()
  await page.getByText('2 events, not connected').waitFor()
  await events.publish('orders', { id: 3 })
  await page.getByText('3 events, live').waitFor()
  t.strictSame(
    await page.getByRole('rowheader').allTextContents(),
    ['3', '2', '1'],
    'nothing is missed, nothing comes twice',
  )
  t.ok(sockets.length > 1)

  await page.getByLabel('From').selectOption('new')
  await page.getByRole('button', { name: 'Begin anew', exact: true }).click()
  await page.getByText('Waiting for events, live').waitFor()
  isDown = true
  await sockets.at(-1)!.close()
  await page.getByText('0 events, not connected').waitFor()
  await events.publish('orders', { id: 4 })
  isDown = false
  await page.getByText('1 event, live').waitFor()
  t.strictSame(await page.getByRole('rowheader').allTextContents(), ['4'], 'nor before the first')
})

t.test('another namespace has topics of its own', async (t) => {
  const opened = await openEventsDashboard(t, '/events', async (events) => {
    await events.publish('ours', { id: 1 })
    await events.publish('theirs', { id: 1 }, { namespace: 'acme' })
  })
  if (opened === undefined) return
  const { page, events } = opened
  await page.getByRole('link', { name: 'ours' }).waitFor()
  await page.getByLabel('Namespace').fill('acme')
  await page.getByLabel('Namespace').press('Enter')
  await page.getByRole('link', { name: 'theirs' }).click()
  await page.getByRole('tab', { name: 'Replay' }).click()
  await page.getByLabel('From').selectOption('oldest')
  await page.getByRole('button', { name: 'Begin', exact: true }).click()
  await page.getByText('1 event, live').waitFor()
  await events.publish('theirs', { id: 1 })
  await events.publish('theirs', { id: 2 }, { namespace: 'acme' })
  await page.getByText('2 events, live').waitFor()
})
