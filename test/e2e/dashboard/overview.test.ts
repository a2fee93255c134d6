import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'

t.test(
  'the overview shows what the gateway does, live, and that its services are well',
  async (t) => {
    const opened = await openDashboard(t)
    if (opened === undefined) return
    const { page, server } = opened
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.getByText('Requests per second').first().waitFor()
    for (const name of ['registry', 'auth', 'store', 'api'])
      await page.locator(`[data-service=${name}]`).getByText('Healthy').waitFor()

    const number = page.locator('.number', { hasText: 'Requests per second' }).locator('dd')
    t.match(await number.textContent(), /^[\d.]+$/)
    for (let i = 0; i < 20; i++) await fetch(`${server.url}/registry/listServices`)
    await number.filter({ hasText: /^(?:[1-9]|0[.][3-9])/ }).waitFor()
    await page.locator('.chart canvas').first().waitFor({ state: 'attached' })
    await checkAccessibility(t, page, 'overview')
  },
)
