import t from 'tap'
import { openDashboard } from '../../fixtures/dashboard.ts'

t.test('a login is renewed before it ends, without anybody noticing', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page } = opened
  await page.clock.install()
  await page.reload()
  await page.locator('nav').first().waitFor()
  const heading = await page.locator('main h1').first().textContent()
  const renewed = page.waitForResponse((reply) => {
    const request = reply.request()
    return request.method() === 'POST' && new URL(request.url()).pathname === '/session'
  })
  // Tokens are good for 15 minutes.
  await page.clock.fastForward('11:00')
  const reply = await renewed
  t.equal(reply.status(), 200)
  t.match(await reply.json(), { account: { id: 'admin' }, namespace: 'mx' })
  t.equal(await reply.headerValue('set-cookie'), null)
  t.equal(await page.locator('main h1').first().textContent(), heading)
  t.equal(await page.getByRole('dialog').count(), 0)
})
