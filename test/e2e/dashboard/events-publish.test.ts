import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openEventsDashboard } from '../../fixtures/dashboard-events.ts'

t.setTimeout(120_000)

t.test('what is typed is published, stays when it is wrong, and is published again', async (t) => {
  const opened = await openEventsDashboard(t, '/events')
  if (opened === undefined) return
  const { page, events } = opened
  const form = page.getByRole('form', { name: 'Publish an event' })
  const publish = form.getByRole('button', { name: 'Publish' })
  await page.getByText('Publish an event', { exact: true }).click()
  await form.getByLabel('Topic').fill('a b')
  await form.getByLabel('Payload', { exact: true }).fill('{"id":')
  await form.getByLabel('Metadata').fill('source')
  await publish.click()
  await form.getByText(/^this is no JSON/).waitFor()
  await form.getByText('line 1 must be name=value, got "source"').waitFor()
  await checkAccessibility(t, page, 'events-publish-invalid')
  await form.getByLabel('Payload', { exact: true }).fill('{"id":12345678901234567890}')
  await form.getByLabel('Metadata').fill('source=shop')
  await publish.click()
  await form.getByText(/request\.topic must be letters/).waitFor()
  t.equal(await form.getByLabel('Metadata').inputValue(), 'source=shop', 'it is still there')
  await form.getByLabel('Topic').fill('orders')
  await publish.click()
  await page.waitForURL('**/events/orders')
  await page.getByRole('button', { name: 'Event 1', exact: true }).click()
  await page.getByRole('button', { name: 'Publish again…' }).click()
  await form.getByLabel('Payload', { exact: true }).waitFor()
  t.equal(await form.getByLabel('Metadata').inputValue(), 'source=shop')
  await checkAccessibility(t, page, 'events-publish')
  await publish.click()
  await page.getByText('Published to orders as 2').waitFor()
  const read = await events.read('orders')
  t.strictSame(
    read.map(({ payload, metadata }) => [Buffer.from(payload).toString(), metadata]),
    Array.from({ length: 2 }, () => ['{"id":12345678901234567890}', { source: 'shop' }]),
  )
})

t.test('a file is published byte by byte, and the audit is nobody else’s', async (t) => {
  const opened = await openEventsDashboard(t, '/events/files?tab=publish')
  if (opened === undefined) return
  const { page, events } = opened
  const form = page.getByRole('form', { name: 'Publish an event' })
  const buffer = Buffer.from([0, 255, 128, 10])
  const file = { name: 'bytes', mimeType: 'application/octet-stream', buffer }
  await form.getByLabel('Payload from a file').setInputFiles(file)
  await form.getByText('bytes, 4 B').waitFor()
  await form.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('Published to files as 1').waitFor()
  const [event] = await events.read('files')
  t.strictSame([...event!.payload], [...buffer])

  const long = { ...file, name: 'film', buffer: Buffer.alloc(1024 * 1024 + 1) }
  await form.getByRole('button', { name: 'Remove the file' }).click()
  await form.getByLabel('Payload from a file').setInputFiles(long)
  await page.getByText('film is too long: at most 1.0 MiB, got 1.0 MiB').waitFor()

  await page.goto('/events/auth?tab=publish')
  await form.getByLabel('Payload', { exact: true }).fill('{}')
  await form.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('Forbidden: publish to auth (events Stream.Publish)').waitFor()
  await page.getByText('the topic auth of mx is the audit').waitFor()
})
