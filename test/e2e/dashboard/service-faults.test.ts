import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { startMirror } from '../../fixtures/mirror-service.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const JANE = { id: 'jane', secret: 'her secret' }

t.test('who may not call an endpoint is told so, with the endpoint and the account', async (t) => {
  const server = await openServer(t)
  await startMirror(t, server)
  await server.post('/auth/generate', { ...JANE, scopes: ['reader'] })
  const rule = {
    ...{ id: 'no', scope: 'reader', access: 'DENIED', priority: 1 },
    resource: { type: 'service', name: 'mirror', endpoint: 'Mirror.Anything' },
  }
  t.equal((await server.post('/auth/rules/create', { rule })).status, 200)
  const path = '/services/mirror?endpoint=Mirror.Anything'
  const opened = await openDashboard(t, { server, account: JANE, path })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('textbox', { name: 'Request as JSON' }).fill('{"typed":true}')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  const problem = page.locator('[data-kind=forbidden]')
  await problem.getByText('mirror Mirror.Anything').waitFor()
  t.match(await problem.textContent(), /Account jane/)
  await checkAccessibility(t, page, 'service-forbidden')
  t.match(
    await page.getByRole('textbox', { name: 'Request as JSON' }).inputValue(),
    '{"typed":true}',
  )
})

t.test('what was typed outlives the login, and the server', async (t) => {
  const opened = await openDashboard(t, { account: undefined })
  if (opened === undefined) return
  const { page, server, context, url } = opened
  const mirror = await startMirror(t, server)
  const logIn = async (action: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Account' }).fill(ADMIN.id)
    await page.getByLabel('Secret').fill(ADMIN.secret)
    await page.getByRole('button', { name: action }).click()
  }
  await page.goto('/services/mirror?endpoint=Mirror.Slow')
  await logIn('Log in')
  const name = page.locator('[data-path="request.name"] textarea')
  const call = page.getByRole('button', { name: 'Call', exact: true })
  await name.fill('typed')

  // Logged out in another tab: the page notices by itself.
  await context.request.post(`${url}/logout`, { headers: { origin: url } })
  await page.getByRole('dialog', { name: 'The login has ended' }).waitFor()
  await logIn('Go on')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal(await name.inputValue(), 'typed')

  // The service is gone: an error, and nothing else.
  await mirror.stop({ timeoutMs: 100 })
  await call.click()
  await page.getByRole('region', { name: 'Answer', exact: true }).locator('.problem').waitFor()
  t.equal(await name.inputValue(), 'typed')

  await server.server.close()
  await call.click()
  await page.locator('[data-kind=gone]').first().waitFor()
  t.equal(await name.inputValue(), 'typed')
})
