import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { endpoint } from '../../../sdk/endpoint.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

t.test('a server alone says so', async (t) => {
  const opened = await openDashboard(t, { path: '/network', words: ['--server_id=alone'] })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('img', { name: '1 server and 0 links, alone in the middle' }).waitFor()
  await page.getByText('This server is linked with no other').waitFor()
  await page.getByText('No other server has a service').waitFor()
  await page.getByLabel('Also those that are here').check()
  await page.getByRole('row').filter({ hasText: 'registry' }).getByText('here').waitFor()
})

t.test('servers that are linked are drawn, with what they have', async (t) => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const shared = ['--network_token=s3cret-of-a-network', `--auth_private_key=${key}`]
  const one = await openServer(t, [...shared, '--server_id=one'])
  const opened = await openDashboard(t, {
    path: '/network',
    words: [...shared, `--network_nodes=${one.proxy}`, '--server_id=two'],
    ownClock: true,
  })
  if (opened === undefined) return
  const { page, server } = opened
  const greeter = createService(t, { name: 'greeter', proxy: one.proxy, auth: ADMIN })
  greeter.handle('Greeter', { hello: endpoint({ handle: () => ({ message: 'Hello' }) }) })
  await greeter.start()
  const answers = async () => (await server.get('/greeter/hello')).status === 200
  await eventually(answers)
  await page.clock.fastForward('00:05')

  await page.getByRole('img', { name: '2 servers and 1 link, two in the middle' }).waitFor()
  const drawing = page.getByRole('region', { name: 'Drawing of the network' })
  t.strictSame((await drawing.locator('text').allTextContents()).sort(), ['one', 'two'])
  const link = page
    .getByRole('table', { name: 'Links' })
    .getByRole('row')
    .filter({ hasText: 'one' })
  await link.getByText('linked', { exact: true }).waitFor()
  await drawing.locator('.link.down').waitFor({ state: 'detached' })
  const services = page.getByRole('table', { name: 'Services of the network' })
  await services.getByRole('row').filter({ hasText: 'greeter' }).getByText('one').first().waitFor()
  await page.getByRole('table', { name: 'Servers' }).getByText('this one').waitFor()
  await checkAccessibility(t, page, 'network')

  await one.server.close()
  await eventually(async () => !(await answers()))
  await page.clock.fastForward('00:05')
  await link.getByText('waiting', { exact: true }).or(link.getByText('connecting')).waitFor()
  await services.waitFor({ state: 'detached' })
})
