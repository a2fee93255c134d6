import type { WebSocketRoute } from 'playwright-core'
import t from 'tap'
import type { Events } from '../../../sdk/events/events.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard, openSharedServer } from '../../fixtures/dashboard.ts'
import {
  consume,
  listTopics,
  openEventsDashboard,
  publishEvents,
} from '../../fixtures/dashboard-events.ts'

t.setTimeout(120_000)

/** Markup in every text that publishers control. */
const SCRIPT = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>'

t.test('lists topics with their groups and lag', async (t) => {
  const opened = await openEventsDashboard(t, '/events', async (events) => {
    await publishEvents(events, 'orders', 5)
    await publishEvents(events, 'quiet', 1)
    await consume(events, 'orders', 'billing', 3)
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
  await page.getByRole('button', { name: 'Delete group billing' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete group billing?' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  t.match(await listTopics(events, { groups: true }), [{ groups: [{ group: 'billing' }] }, {}])
  await page.getByRole('button', { name: 'Delete group billing' }).click()
  await dialog.getByRole('button', { name: 'Delete group' }).click()
  await page.getByText('No groups').waitFor()
  t.match(await listTopics(events, { groups: true }), [{ topic: 'orders', groups: [] }, {}])

  await page.getByRole('button', { name: 'Delete topic…' }).click()
  await page.getByText('Permanently deletes 5 events and 0 groups').waitFor()
  await page.getByRole('button', { name: 'Delete topic', exact: true }).click()
  await page.waitForURL('**/events')
  await page.getByRole('link', { name: 'quiet' }).waitFor()
  t.match(await listTopics(events), [{ topic: 'quiet' }])
})

t.test('pages through messages and follows the newest page', async (t) => {
  const fill = (events: Events) => publishEvents(events, 'orders', 250)
  const opened = await openEventsDashboard(t, '/events/orders', fill, { mockClock: true })
  if (opened === undefined) return
  const { page, events } = opened
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await button('Event 250').waitFor()
  await page.getByText('100 of 250 retained events').waitFor()
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
  await page.getByText('sequence must be a positive integer').waitFor()
  await page.getByLabel('Sequence').fill('249')
  await button('Show').click()
  await page.getByText('3 of 251 retained events').waitFor()
  await checkAccessibility(t, page, 'events-messages')
})

t.test('renders event data as text', async (t) => {
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
  t.ok(first?.includes(`${SCRIPT}x`), 'a metadata name')
  t.ok(first?.includes(JSON.stringify(SCRIPT)))
  t.ok((await show(2))?.includes(SCRIPT))
  t.match(await show(3), /00 ff 10/)
  t.match(await show(4), /12345678901234567890/, 'no digit is lost')
  t.equal(await page.evaluate('window.wasRun'), undefined)
})

t.test('fits a narrow screen', async (t) => {
  const server = await openSharedServer()
  // Recorded in the audit topic.
  await server.post('/auth/generate', { id: 'ann' })
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

t.test('shows an access error with the account', async (t) => {
  const server = await openSharedServer()
  await server.post('/auth/generate', { id: 'jane', secret: 'her secret' })
  const account = { id: 'jane', secret: 'her secret' }
  const opened = await openDashboard(t, { server, account, path: '/events' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByText('Forbidden: list of topics (events Stream.Topics)').waitFor()
  await page.getByRole('alert').getByText('jane').waitFor()
  await checkAccessibility(t, page, 'events-forbidden')
  await page.goto('/events/orders')
  await page.getByText('Forbidden: topic orders (events Stream.Topics)').waitFor()
  t.equal(await page.getByRole('button', { name: 'Delete topic…' }).count(), 0)
})

t.test('publishes input, preserves it on errors, and publishes again', async (t) => {
  const opened = await openEventsDashboard(t, '/events')
  if (opened === undefined) return
  const { page, events } = opened
  const form = page.getByRole('form', { name: 'Publish event' })
  const publish = form.getByRole('button', { name: 'Publish' })
  await page.getByText('Publish event', { exact: true }).click()
  await form.getByLabel('Topic').fill('a b')
  await form.getByLabel('Payload', { exact: true }).fill('{"id":')
  await form.getByLabel('Metadata').fill('source')
  await publish.click()
  await form.getByText(/^invalid JSON/).waitFor()
  await form.getByText('line 1 must be name=value, got "source"').waitFor()
  await checkAccessibility(t, page, 'events-publish-invalid')
  await form.getByLabel('Payload', { exact: true }).fill('{"id":12345678901234567890}')
  await form.getByLabel('Metadata').fill('source=shop')
  await publish.click()
  await form.getByText(/request\.topic must be letters/).waitFor()
  t.equal(await form.getByLabel('Metadata').inputValue(), 'source=shop', 'the input is preserved')
  await form.getByLabel('Topic').fill('orders')
  await publish.click()
  await page.waitForURL('**/events/orders')
  await page.getByRole('button', { name: 'Event 1', exact: true }).click()
  await page.getByRole('button', { name: 'Publish again…' }).click()
  await form.getByLabel('Payload', { exact: true }).waitFor()
  t.equal(await form.getByLabel('Metadata').inputValue(), 'source=shop')
  await checkAccessibility(t, page, 'events-publish')
  await publish.click()
  await page.getByText('Published to orders with sequence 2').waitFor()
  const read = await events.read('orders')
  t.strictSame(
    read.map(({ payload, metadata }) => [Buffer.from(payload).toString(), metadata]),
    Array.from({ length: 2 }, () => ['{"id":12345678901234567890}', { source: 'shop' }]),
  )
})

t.test(
  'publishes a file byte for byte, and hides the audit topic from other accounts',
  async (t) => {
    const opened = await openEventsDashboard(t, '/events/files?tab=publish')
    if (opened === undefined) return
    const { page, events } = opened
    const form = page.getByRole('form', { name: 'Publish event' })
    const buffer = Buffer.from([0, 255, 128, 10])
    const file = { name: 'bytes', mimeType: 'application/octet-stream', buffer }
    await form.getByLabel('Payload file').setInputFiles(file)
    await form.getByText('bytes, 4 B').waitFor()
    await form.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('Published to files with sequence 1').waitFor()
    const [event] = await events.read('files')
    t.strictSame([...event!.payload], [...buffer])

    const long = { ...file, name: 'film', buffer: Buffer.alloc(1024 * 1024 + 1) }
    await form.getByRole('button', { name: 'Remove file' }).click()
    await form.getByLabel('Payload file').setInputFiles(long)
    await page.getByText('film is too large: at most 1.0 MiB, got 1.0 MiB').waitFor()

    await page.goto('/events/auth?tab=publish')
    await form.getByLabel('Payload', { exact: true }).fill('{}')
    await form.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('Forbidden: publish to auth (events Stream.Publish)').waitFor()
    await page.getByText('the topic auth of mx is the audit').waitFor()
  },
)

t.test('replays from any position, continues with new events and affects no group', async (t) => {
  const opened = await openEventsDashboard(t, '/events/orders?tab=replay', async (events) => {
    await publishEvents(events, 'orders', 4)
    await consume(events, 'orders', 'billing', 2)
  })
  if (opened === undefined) return
  const { page, events } = opened
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await page.getByLabel('From').selectOption('sequence')
  await page.getByLabel('Sequence').fill('3')
  await button('Start').click()
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
  await button('Restart').click()
  await page.getByText('5 events, live').waitFor()
  await button('Stop').click()
  await page.getByText('5 events, stopped').waitFor()
  await events.publish('orders', { id: 6 })
  await button('Restart').waitFor({ state: 'detached' })
  await page.getByLabel('From').selectOption('new')
  await button('Start').click()
  await page.getByText('Waiting for events, live').waitFor()
  await events.deleteTopic('orders')
  await page.getByText('the topic orders was deleted').waitFor()
})

t.test('resumes a replay after its last event when the connection breaks', async (t) => {
  const opened = await openEventsDashboard(t, '/', (events) => publishEvents(events, 'orders', 2))
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
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('2 events, live').waitFor()
  await sockets.at(-1)!.close()
  await page.getByText('2 events, reconnecting').waitFor()
  await events.publish('orders', { id: 3 })
  await page.getByText('3 events, live').waitFor()
  t.strictSame(
    await page.getByRole('rowheader').allTextContents(),
    ['3', '2', '1'],
    'no event is missing or duplicated',
  )
  t.ok(sockets.length > 1)

  await page.getByLabel('From').selectOption('new')
  await page.getByRole('button', { name: 'Restart', exact: true }).click()
  await page.getByText('Waiting for events, live').waitFor()
  isDown = true
  await sockets.at(-1)!.close()
  await page.getByText('0 events, reconnecting').waitFor()
  await events.publish('orders', { id: 4 })
  isDown = false
  await page.getByText('1 event, live').waitFor()
  t.strictSame(
    await page.getByRole('rowheader').allTextContents(),
    ['4'],
    'no event before the first one',
  )
})

t.test('separates topics by namespace', async (t) => {
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
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('1 event, live').waitFor()
  await events.publish('theirs', { id: 1 })
  await events.publish('theirs', { id: 2 }, { namespace: 'acme' })
  await page.getByText('2 events, live').waitFor()
})
