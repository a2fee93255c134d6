import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { startMirror } from '../../fixtures/mirror-service.ts'

t.setTimeout(120_000)

t.test('a stream ends when its page is left, what came is still there', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  await startMirror(t, server)
  await page.goto('/services/mirror?endpoint=Stream.Echo')
  await page.getByRole('button', { name: 'Open without a message' }).click()
  const message = page.getByRole('list', { name: 'Messages' }).getByText('{"hello":true}')
  await message.waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.goBack()
  await message.waitFor()
  await page.getByText('stopped', { exact: true }).waitFor()
})

t.test('of an answer the status is read out, not the body', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  await startMirror(t, server)
  await page.goto('/services/mirror?endpoint=Mirror.Anything')
  await page.getByRole('textbox', { name: 'Request as JSON' }).fill('{"typed":true}')
  await checkAccessibility(t, page, 'service-not-called')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  const answer = page.getByRole('region', { name: 'Answer', exact: true })
  const status = answer.getByRole('status').filter({ hasText: '200 OK' })
  await status.waitFor()
  await answer.getByText('typed').first().waitFor()
  t.notMatch(await status.textContent(), 'typed')
  t.equal(await answer.getAttribute('aria-live'), null)
})
