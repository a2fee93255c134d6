import t from 'tap'
import { type TSchema, Type } from '../../../core/schema.ts'
import { endpoint } from '../../../sdk/endpoint.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { startMirror } from '../../fixtures/mirror-service.ts'
import { createService } from '../../fixtures/sdk-services.ts'
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
  const opened = await openDashboard(t, { account: undefined, ownClock: true })
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

  // Whoever logs out leaves nothing behind in the page.
  await page.getByRole('button', { name: 'Log out' }).click()
  await logIn('Log in')
  await name.waitFor()
  t.equal(await name.inputValue(), '')
  await name.fill('typed')

  // The service is gone: an error, and nothing else.
  await mirror.stop({ timeoutMs: 100 })
  await call.click()
  await page.getByRole('region', { name: 'Answer', exact: true }).locator('.problem').waitFor()
  t.equal(await name.inputValue(), 'typed')

  await server.server.close()
  await call.click()
  // It waits for the server, as long as that may be back in time.
  await page.getByText('Waiting for the answer').waitFor()
  await page.clock.fastForward('00:10')
  await page.locator('[data-kind=gone]').first().waitFor()
  t.equal(await name.inputValue(), 'typed')
})

t.test(
  'a version with another form takes what was typed with it, or keeps it as JSON',
  async (t) => {
    const server = await openServer(t)
    const start = (version: string, request: TSchema): Promise<string> =>
      createService(t, { name: 'shape', version, registry: `mx://${server.proxy}`, auth: ADMIN })
        .handle('Shape', { call: endpoint({ request, handle: (given) => ({ given }) }) })
        .start()
    await start('v1', Type.Object({ name: Type.String(), old: Type.Optional(Type.String()) }))
    const opened = await openDashboard(t, { server, path: '/services/shape?endpoint=Shape.Call' })
    if (opened === undefined) return
    const { page } = opened
    const field = (name: string) => page.locator(`[data-path="request.${name}"] textarea`)
    await field('name').fill('typed')
    await start('v2', Type.Object({ name: Type.String(), other: Type.Optional(Type.String()) }))
    await field('other').waitFor()
    t.equal(await field('name').inputValue(), 'typed')
    await field('other').fill('gone soon')
    await start('v3', Type.Object({ name: Type.String() }))
    const raw = page.getByRole('textbox', { name: 'Request as JSON' })
    await raw.waitFor()
    t.same(JSON.parse(await raw.inputValue()), { name: 'typed', other: 'gone soon' })
  },
)
