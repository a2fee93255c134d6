import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'

t.test('services are listed, searched, sorted, and opened', async (t) => {
  const opened = await openDashboard(t, { path: '/services' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('row', { name: 'registry' }).getByText('What runs where').waitFor()
  await checkAccessibility(t, page, 'services')
  const names = (): Promise<string[]> => page.getByRole('rowheader').allTextContents()
  const first = (await names())[0]
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  t.equal((await names()).at(-1), first, 'turned round')
  await page.getByLabel('Search services').fill('registry.listservices')
  await page.getByRole('rowheader').nth(1).waitFor({ state: 'detached' })
  t.same(await names(), ['registry'])
  t.match(page.url(), 'search=registry.listservices', 'a search can be linked to')
  await page.keyboard.press('Tab')
  await page.getByRole('link', { name: 'registry' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'registry', level: 1 }).waitFor()
})
