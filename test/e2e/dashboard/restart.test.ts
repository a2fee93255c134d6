import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

t.test(
  'a server that is gone leaves the page stale; one that is back goes on where it was',
  async (t) => {
    const first = await openServer(t)
    const opened = await openDashboard(t, { server: first, path: '/services' })
    if (opened === undefined) return
    const { page } = opened
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('rowheader', { name: 'registry' }).waitFor()
    await page.getByLabel('Search services').fill('reg')

    await first.server.close()
    await page.getByText('Stale', { exact: true }).first().waitFor()
    await page.getByText('The server does not answer.').waitFor()
    await page.getByRole('rowheader', { name: 'registry' }).waitFor()
    await checkAccessibility(t, page, 'stale')

    const { port } = first.server.webAddress
    const second = await openServer(t, [`--web_address=127.0.0.1:${port}`])
    // Another server knows nothing of the login.
    await page.getByRole('dialog', { name: 'The login has ended' }).waitFor()
    await checkAccessibility(t, page, 'login-ended')
    t.equal(await page.getByRole('textbox', { name: 'Account' }).inputValue(), ADMIN.id)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.getByLabel('Secret').fill(ADMIN.secret)
    await page.keyboard.press('Enter')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Stale', { exact: true }).waitFor({ state: 'detached' })
    t.equal(await page.getByLabel('Search services').inputValue(), 'reg', 'what was typed is there')

    const node = { id: 'n1', address: '127.0.0.1:1' }
    await second.post('/registry/register', { name: 'regular', nodes: [node] })
    await page.getByRole('rowheader', { name: 'regular' }).waitFor()
    await second.post('/registry/deregister', { name: 'regular', nodes: [node] })
    await page.getByRole('rowheader', { name: 'regular' }).waitFor({ state: 'detached' })
  },
)

t.test('another account that logs in in place sees nothing of the one before', async (t) => {
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
  await page.getByRole('dialog', { name: 'The login has ended' }).waitFor()
  await page.getByRole('textbox', { name: 'Account' }).fill(jane.id)
  await page.getByLabel('Secret').fill(jane.secret)
  await page.keyboard.press('Enter')
  await page.locator('[data-kind=forbidden]').first().waitFor()
  t.equal(await page.getByRole('rowheader').count(), 0)
})
