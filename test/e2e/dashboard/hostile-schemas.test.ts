import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openReplaced } from '../../fixtures/replaced-answers.ts'

t.setTimeout(120_000)

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

t.test('a page whose data are not as they should be says so, the others go on', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const page = await openReplaced(opened.context, '/services', { '"nodes"': '"nodez"' })
  page.on('pageerror', (error) => t.fail(error.message))
  await page.getByText('The page Services cannot be shown').waitFor()
  await checkAccessibility(t, page, 'page-failed')
  await page.getByRole('link', { name: 'Runtime' }).click()
  await page.getByText('Nothing runs here yet').waitFor()
})

t.test('whatever a service tells as its schema', async (t) => {
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

  t.test('has a form, or is typed as JSON', async (t) => {
    await page.goto('/services/odd')
    for (const name of Object.keys(SCHEMAS)) {
      await page.getByRole('navigation', { name: 'Endpoints' }).getByText(name).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
      await page.getByRole('form', { name: `Request of ${name}` }).waitFor()
      await page.getByText('Schemas', { exact: true }).click()
    }
    t.equal(await page.locator('[data-kind=failed]').count(), 0)
  })

  t.test('JSON of thousands of levels is refused, answered or typed', async () => {
    await page.goto('/services/odd?endpoint=Odd.True')
    const raw = page.getByRole('textbox', { name: 'Request as JSON' })
    await raw.fill(DEEP)
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByText('must not be nested more than 1000 levels deep').first().waitFor()
    await raw.fill('{}')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    const answer = page.getByRole('region', { name: 'Answer', exact: true })
    await answer.getByText('the answer of odd is nested more than 1000 levels deep').waitFor()
  })
})
