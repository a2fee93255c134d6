import t from 'tap'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openReplaced } from '../../fixtures/replaced-answers.ts'
import { openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const HOSTILE = '<img src=x onerror=window.wasRun=1>'

/** A name that a server takes. */
const toName = (letter: string): string => letter.repeat(HOSTILE.length + 1)
/** As long as the name, so that frames stay whole; different ones stay different. */
const toHostile = (name: string): string => HOSTILE.slice(0, name.length - 1) + name.at(-1)

const toHostiles = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, toHostile(name)]))

t.test('names and addresses of servers are text', async (t) => {
  const shared = ['--network_token=s3cret-of-a-network']
  const [own, other] = [toName('a'), toName('b')]
  const one = await openServer(t, [...shared, `--server_id=${other}`])
  const words = [...shared, `--server_id=${own}`, `--network_nodes=${one.proxy}`]
  const opened = await openDashboard(t, { words })
  if (opened === undefined) return
  const page = await openReplaced(opened.context, '/network', toHostiles([other, own, one.proxy]))
  const links = page.getByRole('table', { name: 'Links' })
  await links.getByRole('rowheader', { name: HOSTILE }).waitFor()
  await links.getByText(toHostile(one.proxy)).waitFor()
  await page.getByRole('img', { name: `${toHostile(own)} in the middle` }).waitFor()
  t.equal(await page.evaluate('window.wasRun'), undefined)
  t.equal(await page.locator('main img').count(), 0)
})

t.test('what rules say is text', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const [id, scope, name] = [toName('i'), toName('s'), toName('n')]
  const resource = { type: 'service', name, endpoint: '*' }
  const rule = { id, scope, access: 'DENIED', resource, priority: 1 }
  const { status } = await opened.server.post('/auth/rules/create', { rule })
  t.equal(status, 200)
  const page = await openReplaced(opened.context, '/auth?tab=rules', toHostiles([id, scope, name]))
  await page.getByRole('rowheader', { name: HOSTILE }).waitFor()
  await page.getByText(`service:${toHostile(name)}:*`).waitFor()
  await page.getByRole('button', { name: `Delete the rule ${toHostile(id)}` }).click()
  await page.getByRole('dialog', { name: `Delete the rule ${toHostile(id)}?` }).waitFor()
  t.equal(await page.evaluate('window.wasRun'), undefined)
  t.equal(await page.locator('img').count(), 0)
})
