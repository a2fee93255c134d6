import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openReplaced } from '../../fixtures/replaced-answers.ts'
import { openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const HOSTILE = '<img src=x onerror=window.wasRun=1>'

/** A valid server name. */
const toName = (letter: string): string => letter.repeat(HOSTILE.length + 1)
/** Markup of the maximum name length, so that frames stay valid, and unique per name. */
const toMarkupName = (name: string): string => HOSTILE.slice(0, name.length - 1) + name.at(-1)

const toMarkupNames = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, toMarkupName(name)]))

t.test('renders names and addresses of servers as text', async (t) => {
  const shared = ['--network_token=s3cret-of-a-network']
  const [ownName, other] = [toName('a'), toName('b')]
  const one = await openServer(t, [...shared, `--server_id=${other}`])
  const flags = [...shared, `--server_id=${ownName}`, `--network_nodes=${one.proxy}`]
  const opened = await openDashboard(t, { flags })
  if (opened === undefined) return
  const page = await openReplaced(
    opened.context,
    '/network',
    toMarkupNames([other, ownName, one.proxy]),
  )
  const links = page.getByRole('table', { name: 'Links' })
  await links.getByRole('rowheader', { name: HOSTILE }).waitFor()
  await links.getByText(toMarkupName(one.proxy)).waitFor()
  await page.getByRole('img', { name: `${toMarkupName(ownName)} in the center` }).waitFor()
  t.equal(await page.evaluate('window.wasRun'), undefined)
  t.equal(await page.locator('main img').count(), 0)
})

t.test('renders rules as text', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const [id, scope, name] = [toName('i'), toName('s'), toName('n')]
  const resource = { type: 'service', name, endpoint: '*' }
  const rule = { id, scope, access: 'DENIED', resource, priority: 1 }
  const { status } = await opened.server.post('/auth/rules/create', { rule })
  t.equal(status, 200)
  const page = await openReplaced(
    opened.context,
    '/auth?tab=rules',
    toMarkupNames([id, scope, name]),
  )
  await page.getByRole('rowheader', { name: HOSTILE }).waitFor()
  await page.getByText(`service:${toMarkupName(name)}:*`).waitFor()
  await page.getByRole('button', { name: `Delete access rule ${toMarkupName(id)}` }).click()
  await page.getByRole('dialog', { name: `Delete access rule ${toMarkupName(id)}?` }).waitFor()
  t.equal(await page.evaluate('window.wasRun'), undefined)
  t.equal(await page.locator('img').count(), 0)
})

const LEVELS = 20_000
const DEEP = `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`
const SELF = { $ref: '#/$defs/A' }
const SCHEMAS = {
  'Odd.True': true,
  'Odd.Empty': { anyOf: [] },
  'Odd.Null': { oneOf: [{ type: 'null' }] },
  'Odd.Self': { ...SELF, $defs: { A: { anyOf: [SELF] } } },
  'Odd.Nonsense': {
    ...{ type: {}, description: 5, required: 7 },
    properties: { a: 3, b: { enum: 1, type: 'x', items: null, allOf: [] } },
  },
}

t.test('shows an error for malformed data, and other pages continue to work', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const page = await openReplaced(opened.context, '/services', { '"nodes"': '"nodez"' })
  page.on('pageerror', (error) => t.fail(error.message))
  await page.getByText('The page Services failed to render').waitFor()
  await checkAccessibility(t, page, 'page-failed')
  await page.getByRole('link', { name: 'Runtime' }).click()
  await page.getByText('No deployed services').waitFor()
})

t.test('renders any schema of a service', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  const backend = createServer((request, reply) => {
    request.resume()
    reply.setHeader('content-type', 'application/json')
    reply.end(DEEP)
  }).listen(0, '127.0.0.1')
  t.teardown(() => void backend.close())
  await once(backend, 'listening')
  const { port } = backend.address() as AddressInfo
  const endpoints = Object.entries(SCHEMAS).map(([name, schema]) => ({
    name,
    metadata: { requestSchema: JSON.stringify(schema) },
  }))
  const registered = await server.post('/registry/register', {
    ...{ name: 'odd', endpoints },
    nodes: [{ id: 'odd-1', address: `127.0.0.1:${port}`, metadata: { protocol: 'http' } }],
  })
  t.equal(registered.status, 200, JSON.stringify(registered.body))

  t.test('as a form, or as JSON input', async (t) => {
    await page.goto('/services/odd')
    for (const name of Object.keys(SCHEMAS)) {
      await page.getByRole('navigation', { name: 'Endpoints' }).getByText(name).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
      await page.getByRole('form', { name: `Request to ${name}` }).waitFor()
      await page.getByText('Schemas', { exact: true }).click()
    }
    t.equal(await page.locator('[data-kind=failed]').count(), 0)
  })

  t.test('handles JSON with thousands of levels as schema, response and input', async () => {
    await page.goto('/services/odd?endpoint=Odd.True')
    const raw = page.getByRole('textbox', { name: 'JSON request' })
    await raw.fill(DEEP)
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByText('must not be nested more than 1000 levels deep').first().waitFor()
    await raw.fill('{}')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    const response = page.getByRole('region', { name: 'Response', exact: true })
    await response.getByText('the response of odd is nested more than 1000 levels deep').waitFor()
  })
})
