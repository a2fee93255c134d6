import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { ADMIN } from '../../fixtures/server.ts'

t.test('whoever is not logged in logs in, and comes to the page that was asked for', async (t) => {
  const opened = await openDashboard(t, { account: undefined, path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('button', { name: 'Log in' }).waitFor()
  await checkAccessibility(t, page, 'login')

  await page.getByLabel('Account').fill(ADMIN.id)
  await page.getByLabel('Secret').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByText('Account, secret or namespace is wrong.').waitFor()
  t.equal(await page.getByLabel('Account').inputValue(), ADMIN.id, 'the account is still there')
  t.equal(await page.getByLabel('Secret').inputValue(), '')

  await page.getByLabel('Secret').fill(ADMIN.secret)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  t.equal(new URL(page.url()).pathname, '/services')
})
