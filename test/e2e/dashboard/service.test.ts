import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { type TSchema, Type } from '../../../core/schema.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard, openSharedServer } from '../../fixtures/dashboard.ts'
import { startMirror, XSS } from '../../fixtures/mirror-service.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { ADMIN } from '../../fixtures/server.ts'

t.setTimeout(120_000)

const field = (page: Page, path: string) =>
  page.locator(`[data-path=${JSON.stringify(path)}]`).first()
const typeInto = (page: Page, path: string, text: string) =>
  field(page, path).locator('input, textarea').first().fill(text)
const clickButton = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true }).click()
const responseRegion = (page: Page) => page.getByRole('region', { name: 'Response', exact: true })
/** Requests of the mirror endpoint. */
const readReply = async (page: Page): Promise<unknown> => {
  await responseRegion(page).getByText('200 OK').waitFor()
  const text = await responseRegion(page)
    .locator('.json-members .json-string')
    .first()
    .textContent()
  return JSON.parse(JSON.parse(text!))
}

t.test('the service page', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  await startMirror(t, server)
  const open = async (endpoint: string): Promise<void> => {
    await page.goto(`/services/mirror?endpoint=${endpoint}`)
    await page.getByRole('heading', { name: endpoint, exact: true }).waitFor()
  }

  t.test('renders every schema feature as a form and builds the request from it', async (t) => {
    await open('Mirror.Show')
    await typeInto(page, 'request.name', 'Ann\nof two lines')
    await typeInto(page, 'request.small', '0x2a')
    await typeInto(page, 'request.big', '9223372036854775807')
    await typeInto(page, 'request.ratio', '1.5e3')
    await field(page, 'request.is_open').locator('select').selectOption('false')
    await field(page, 'request.kind').locator('select').selectOption({ label: 'blue' })
    await field(page, 'request.data')
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.bin', mimeType: '', buffer: Buffer.from([255, 0, 1]) })
    await page.getByText('a.bin, 3 B').waitFor()
    await clickButton(page, 'Send perhaps as null')
    await clickButton(page, 'Send empty note')
    await clickButton(page, 'Add tags')
    for (const [i, tag] of ['first', 'second'].entries()) {
      await clickButton(page, 'Add item to tags')
      await typeInto(page, `request.tags[${i}]`, tag)
    }
    await clickButton(page, 'Move tags 2 up')
    await clickButton(page, 'Add labels')
    await clickButton(page, 'Add entry to labels')
    await page.getByRole('textbox', { name: 'Key 1 of labels' }).fill('a key')
    await typeInto(page, 'request.labels["a key"]', '7')
    await clickButton(page, 'Add point')
    await typeInto(page, 'request.point[0]', '-1')
    await typeInto(page, 'request.point[1]', 'p')
    await typeInto(page, 'request.inner.domain', 'd')
    await clickButton(page, 'Add deep')
    await field(page, 'request.inner.deep.on').locator('select').selectOption('true')
    await clickButton(page, 'Add either')
    await page.getByRole('combobox', { name: 'Type of either' }).selectOption('1')
    await typeInto(page, 'request.either.id', '9')
    await clickButton(page, 'Add tree')
    await typeInto(page, 'request.tree.label', 'root')
    await clickButton(page, 'Add children')
    await clickButton(page, 'Add item to children')
    await typeInto(page, 'request.tree.children[0].label', 'leaf')
    await typeInto(page, 'request.other', '{"any": [true]}')
    await clickButton(page, 'Call')
    t.same(await readReply(page), {
      ...{ name: 'Ann\nof two lines', note: '', count: 3, small: 42, big: '9223372036854775807' },
      ...{ ratio: 1500, is_open: false, kind: 'blue', version: 1, perhaps: null },
      ...{
        data: { type: 'Buffer', data: [255, 0, 1] },
        tags: ['second', 'first'],
        labels: { 'a key': 7 },
      },
      ...{ point: [-1, 'p'], inner: { domain: 'd', deep: { on: true } }, either: { id: 9 } },
      tree: { label: 'root', children: [{ label: 'leaf', children: [] }] },
      other: { any: [true] },
    })
  })

  t.test('shows errors at their fields, sends nothing and preserves input', async (t) => {
    await open('Mirror.Show')
    await typeInto(page, 'request.count', 'many')
    await typeInto(page, 'request.small', '2147483648')
    await typeInto(page, 'request.other', '{')
    await clickButton(page, 'Call')
    await page.getByText('5 errors:').waitFor()
    const invalid = [
      ['request.name', 'is required'],
      ['request.count', 'must be an integer such as 42 or 0x2a, got "many"'],
      ['request.small', 'must be an int32, from -2147483648 to 2147483647, got "2147483648"'],
      ['request.inner.domain', 'is required'],
      [
        'request.other',
        'must be JSON: expected a name in double quotes at position 1, got the end',
      ],
    ] as const
    for (const [path, message] of invalid)
      t.equal(await field(page, path).locator('.field-error').textContent(), message, path)
    t.equal(await responseRegion(page).getByText('200 OK').count(), 0)
    // The first field has the focus.
    await field(page, 'request.name').locator(':focus').waitFor()
    t.equal(await field(page, 'request.count').locator('input').inputValue(), 'many')

    await typeInto(page, 'request.count', '')
    await typeInto(page, 'request.small', '')
    await typeInto(page, 'request.other', '')
    await typeInto(page, 'request.name', '')
    await typeInto(page, 'request.inner.domain', 'd')
    // Errors from the service are shown in the same place.
    await typeInto(page, 'request.name', 'x')
    await typeInto(page, 'request.name', '')
    await field(page, 'request.name').locator('textarea').press('Control+Enter')
    await responseRegion(page).getByText('400 Bad Request').first().waitFor()
    t.match(
      await field(page, 'request.name').locator('.field-error').textContent(),
      'must not have fewer than 1 characters',
    )
  })

  t.test(
    'accepts a request as JSON, converts it to the form, and remains JSON if the form cannot represent it',
    async (t) => {
      await open('Mirror.Show')
      await typeInto(page, 'request.name', 'Bob')
      await typeInto(page, 'request.inner.domain', 'd')
      await clickButton(page, 'JSON')
      const raw = page.getByRole('textbox', { name: 'JSON request' })
      t.same(JSON.parse(await raw.inputValue()), {
        name: 'Bob',
        version: 1,
        inner: { domain: 'd' },
      })
      await raw.fill('{"name":"Bob","version":1,"inner":{"domain":"d"},"unknown":1}')
      await clickButton(page, 'Form')
      await page.getByText('request.unknown is not in the schema').first().waitFor()
      await clickButton(page, 'Call')
      t.match(await readReply(page), { unknown: 1 })
      await raw.fill('{"name":')
      await clickButton(page, 'Call')
      await page
        .getByText('must be JSON: expected a value at position 8, got the end')
        .first()
        .waitFor()
      await raw.fill('{"name":"Carl","version":1,"inner":{"domain":"d"}}')
      await clickButton(page, 'Form')
      t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'Carl')
    },
  )

  t.test('accepts JSON for an endpoint without a schema', async (t) => {
    await open('Mirror.Anything')
    await page.getByRole('textbox', { name: 'JSON request' }).fill('{"a":[1]}')
    await clickButton(page, 'Call')
    await responseRegion(page).getByText('200 OK').waitFor()
    t.match(await responseRegion(page).textContent(), /"got"/)
  })

  t.test(
    'renders a form for a service in another language, without rounding numbers',
    async (t) => {
      const backend = createServer((request, reply) => {
        request.resume()
        reply.setHeader('content-type', 'application/json')
        reply.end('{"id":9007199254740993}')
      }).listen(0, '127.0.0.1')
      t.teardown(() => void backend.close())
      await once(backend, 'listening')
      const { port } = backend.address() as AddressInfo
      const leaf = (name: string, type: string) => ({ name, type, values: [] })
      const request = {
        ...leaf('', 'Call'),
        values: [leaf('id', 'int64'), leaf('tags', '[]string')],
      }
      const registered = await server.post('/registry/register', {
        name: 'other',
        endpoints: [{ name: 'Other.Call', request, response: leaf('', 'any'), metadata: {} }],
        nodes: [{ id: 'other-1', address: `127.0.0.1:${port}`, metadata: { protocol: 'http' } }],
      })
      t.equal(registered.status, 200)
      await page.goto('/services/other')
      await typeInto(page, 'request.id', '1')
      await clickButton(page, 'Add tags')
      await clickButton(page, 'Call')
      await responseRegion(page).getByText('"9007199254740993"').waitFor()
      const downloading = page.waitForEvent('download')
      await clickButton(page, 'Download')
      const file = await (await downloading).path()
      t.equal(readFileSync(file, 'utf8'), '{\n  "id": 9007199254740993\n}')
    },
  )

  t.test('shows the equivalent mx and curl commands, which make the same call', async (t) => {
    await open('Mirror.Anything')
    await page.getByRole('textbox', { name: 'JSON request' }).fill(`{"name":"it's $HOME"}`)
    await page.getByText('Commands', { exact: true }).click()
    const command = (name: string) => page.getByRole('region', { name: `${name} command` })
    t.equal(
      await command('mx').textContent(),
      `mx call mirror Mirror.Anything '{"name":"it'\\''s $HOME"}'`,
    )
    await page.getByRole('textbox', { name: 'Gateway' }).fill(server.url)
    const curl = await command('curl').textContent()
    const shell = `mx() { echo ${server.token}; }; ${curl}`
    const { stdout } = await promisify(execFile)('sh', ['-c', shell])
    t.same(JSON.parse(stdout), { got: { name: "it's $HOME" } })
  })

  t.test('shows code, message and details of an error as text', async (t) => {
    await open('Mirror.Refuse')
    await clickButton(page, 'Call')
    await responseRegion(page).getByText('409 Conflict').first().waitFor()
    t.match(await responseRegion(page).locator('.problem').textContent(), XSS)
    await page.getByText('Headers (1)').click()
    t.match(await responseRegion(page).textContent(), `x-why${XSS}`)
  })

  t.test('shows progress of a slow endpoint, which can be cancelled and times out', async (t) => {
    await open('Mirror.Slow')
    await typeInto(page, 'request.name', 'typed')
    await clickButton(page, 'Call')
    await page.getByText('Waiting for the response').waitFor()
    await clickButton(page, 'Cancel')
    await responseRegion(page).locator('[data-kind=cancelled]').getByText('499').waitFor()
    await page.getByText('Options', { exact: true }).click()
    const limit = page.getByRole('textbox', { name: 'Timeout' })
    await limit.fill('soon')
    await clickButton(page, 'Call')
    await page
      .getByText('must be a number of milliseconds such as 5000, got "soon"')
      .first()
      .waitFor()
    await limit.fill('200')
    await clickButton(page, 'Call')
    await page.locator('[data-kind=timeout]').waitFor()
    t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'typed')
  })

  t.test('shows part of a huge response immediately and offers it as a download', async (t) => {
    await open('Mirror.Huge')
    await clickButton(page, 'Call')
    await responseRegion(page).getByText('200 OK').waitFor()
    t.match(await responseRegion(page).locator('.response-facts').textContent(), /MiB/)
    await responseRegion(page)
      .getByRole('button', { name: /^Show more \(19,?900 left\)/ })
      .waitFor()
    const downloading = page.waitForEvent('download')
    await clickButton(page, 'Download')
    t.equal((await downloading).suggestedFilename(), 'Mirror.Huge.json')
  })

  t.test('shows a stream live', async (t) => {
    await open('Stream.Count')
    await clickButton(page, 'Open stream')
    await page.getByText('ended', { exact: true }).waitFor()
    const messages = page.getByRole('list', { name: 'Messages' })
    t.equal(await messages.locator('.received').count(), 3)
    t.match(await messages.textContent(), XSS.replaceAll('"', '\\"'))
    await typeInto(page, 'request.to', '5000')
    await clickButton(page, 'Open stream')
    await page.getByText('5001 messages').waitFor()
    await page.getByText('Showing the last 200 messages.').waitFor()
  })

  t.test('sends messages into an open stream', async (t) => {
    const messages = page.getByRole('list', { name: 'Messages' })
    await open('Stream.Echo')
    await clickButton(page, 'Open without a message')
    await messages.getByText('{"hello":true}').waitFor()
    for (const text of ['one', 'two']) {
      await typeInto(page, 'request.text', text)
      await clickButton(page, 'Send message')
      await messages.getByText(`{"echo":"${text}"}`).waitFor()
    }
    await clickButton(page, 'End sending')
    await page.getByText('ended', { exact: true }).waitFor()
    await page.getByText('Commands', { exact: true }).click()
    t.match(
      await page.getByRole('region', { name: 'mx command' }).textContent(),
      `printf '%s\\n' '{"text":"one"}' '{"text":"two"}' | mx stream mirror Stream.Echo -`,
    )

    await open('Stream.Sum')
    await typeInto(page, 'request.n', '2')
    await clickButton(page, 'Open and send')
    await typeInto(page, 'request.n', '40')
    await clickButton(page, 'Send message')
    await messages.locator('.sent').nth(1).waitFor()
    await clickButton(page, 'End sending')
    await messages.getByText('{"sum":42}').waitFor()

    await open('Stream.Echo')
    await typeInto(page, 'request.text', 'x')
    await clickButton(page, 'Open and send')
    await messages.getByText('{"echo":"x"}').waitFor()
    await clickButton(page, 'Stop')
    await page.getByText('stopped', { exact: true }).waitFor()
  })

  t.test('stores calls in the browser without secrets and fills them in again', async (t) => {
    await open('Mirror.Show')
    await page.evaluate('localStorage.clear()')
    await page.reload()
    await typeInto(page, 'request.name', 'kept')
    await typeInto(page, 'request.secret', 'never-kept')
    await typeInto(page, 'request.inner.domain', 'd')
    await clickButton(page, 'Call')
    t.match(await readReply(page), { secret: 'never-kept' })
    t.notMatch(await page.evaluate('JSON.stringify(localStorage)'), 'never-kept')
    await page.reload()
    await page.getByText('History (1)').click()
    await clickButton(page, 'Use request')
    t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'kept')
    t.equal(await field(page, 'request.secret').locator('input').inputValue(), '')
    await clickButton(page, 'Clear history of this account')
    await page.getByText('History (0)').waitFor()
  })

  t.test('restores input after visiting another page', async (t) => {
    await open('Mirror.Slow')
    await typeInto(page, 'request.name', 'still here')
    const links = page.getByRole('navigation', { name: 'Endpoints' })
    await links.getByRole('link', { name: 'Mirror.Show' }).click()
    await page.getByRole('heading', { name: 'Mirror.Show', exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Mirror.Slow', exact: true }).waitFor()
    t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'still here')
  })

  t.test('searches endpoints, including common endpoints of all services', async (t) => {
    await open('Debug.Health')
    await clickButton(page, 'Call')
    await responseRegion(page).getByText('200 OK').waitFor()
    await page.getByRole('searchbox', { name: 'Search endpoints' }).fill('sum')
    const links = page.getByRole('navigation', { name: 'Endpoints' }).getByRole('link')
    t.same(await links.allTextContents(), ['Stream.Sumstream'])
    await page.goto('/services/mirror?endpoint=Mirror.None')
    await page.getByText('mirror has no endpoint Mirror.None').waitFor()
    await page.goto('/services/unknown')
    await page.locator('[data-kind=notFound]').waitFor()
  })

  t.test('shows nodes with their state in the gateway, and metadata', async (t) => {
    await page.goto('/services/mirror?tab=nodes')
    const rows = page.getByRole('table', { name: 'Nodes' }).getByRole('row')
    await rows.nth(1).waitFor()
    await rows.nth(1).getByText('usable').waitFor()
    t.match(await rows.nth(1).textContent(), /127\.0\.0\.1:\d+v1usable0–.*protocol=mx/)
    await page.getByRole('tab', { name: 'Metadata' }).click()
    await page.locator('.facts > dt + dd').getByText(XSS).waitFor()
  })

  t.test('is accessible and executes no script of a service', async (t) => {
    await open('Mirror.Show')
    await clickButton(page, 'Add tree')
    await clickButton(page, 'Add labels')
    await clickButton(page, 'Add entry to labels')
    await page.getByText('Schemas', { exact: true }).click()
    await clickButton(page, 'Call')
    await page.getByText(/errors:/).waitFor()
    await checkAccessibility(t, page, 'service-form')
    await open('Stream.Count')
    await clickButton(page, 'Open stream')
    await page.getByText('ended', { exact: true }).waitFor()
    await checkAccessibility(t, page, 'service-stream')
    await open('Mirror.Refuse')
    await clickButton(page, 'Call')
    await responseRegion(page).getByText('409 Conflict').first().waitFor()
    await checkAccessibility(t, page, 'service-error')
    t.equal(await page.title(), 'mirror · mx')
    await page.setViewportSize({ width: 360, height: 800 })
    const width = await page.evaluate('document.documentElement.scrollWidth')
    t.ok((width as number) <= 360, `${width} pixels of 360`)
  })
})

t.test('ends a stream when its page is left and retains received messages', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  await startMirror(t, server)
  await page.goto('/services/mirror?endpoint=Stream.Echo')
  await page.getByRole('button', { name: 'Open without a message' }).click()
  const message = page.getByRole('list', { name: 'Messages' }).getByText('{"hello":true}')
  await message.waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.goBack()
  await message.waitFor()
  await page.getByText('stopped', { exact: true }).waitFor()
})

t.test('announces the status of a response, but not the body, to screen readers', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  await startMirror(t, server)
  await page.goto('/services/mirror?endpoint=Mirror.Anything')
  await page.getByRole('textbox', { name: 'JSON request' }).fill('{"typed":true}')
  await checkAccessibility(t, page, 'service-not-called')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  const responseRegion = page.getByRole('region', { name: 'Response', exact: true })
  const status = responseRegion.getByRole('status').filter({ hasText: '200 OK' })
  await status.waitFor()
  await responseRegion.getByText('typed').first().waitFor()
  t.notMatch(await status.textContent(), 'typed')
  t.equal(await responseRegion.getAttribute('aria-live'), null)
})

const JANE = { id: 'jane', secret: 'her secret' }

t.test('shows endpoint and account of a denied call', async (t) => {
  const server = await openSharedServer()
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
  await page.getByRole('textbox', { name: 'JSON request' }).fill('{"typed":true}')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  const problem = page.locator('[data-kind=forbidden]')
  await problem.getByText('mirror Mirror.Anything').waitFor()
  t.match(await problem.textContent(), /Account jane/)
  await checkAccessibility(t, page, 'service-forbidden')
  t.match(await page.getByRole('textbox', { name: 'JSON request' }).inputValue(), '{"typed":true}')
})

t.test('preserves input across login and server restart', async (t) => {
  const opened = await openDashboard(t, { flags: [], account: undefined, mockClock: true })
  if (opened === undefined) return
  const { page, server, context, url } = opened
  const mirror = await startMirror(t, server)
  const logIn = async (action: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Account' }).fill(ADMIN.id)
    await page.getByLabel('Password').fill(ADMIN.secret)
    await page.getByRole('button', { name: action }).click()
  }
  await page.goto('/services/mirror?endpoint=Mirror.Slow')
  await logIn('Log in')
  const name = page.locator('[data-path="request.name"] textarea')
  const call = page.getByRole('button', { name: 'Call', exact: true })
  await name.fill('typed')

  // The page detects the logout in another tab.
  await context.request.post(`${url}/logout`, { headers: { origin: url } })
  await page.getByRole('dialog', { name: 'Session expired' }).waitFor()
  await logIn('Continue')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  t.equal(await name.inputValue(), 'typed')

  // A logout clears the input of the page.
  await page.getByRole('button', { name: 'Log out' }).click()
  await logIn('Log in')
  await name.waitFor()
  t.equal(await name.inputValue(), '')
  await name.fill('typed')

  // The service is unavailable, so only an error is shown.
  await mirror.stop({ timeoutMs: 100 })
  await call.click()
  await page.getByRole('region', { name: 'Response', exact: true }).locator('.problem').waitFor()
  t.equal(await name.inputValue(), 'typed')

  await server.server.close()
  await call.click()
  // Waits for the server as long as it may return in time.
  await page.getByText('Waiting for the response').waitFor()
  await page.clock.fastForward('00:10')
  await page.locator('[data-kind=unreachable]').first().waitFor()
  t.equal(await name.inputValue(), 'typed')
})

t.test(
  'carries input over to a version with a different form, or retains it as JSON',
  async (t) => {
    const server = await openSharedServer()
    const start = (version: string, request: TSchema): Promise<string> =>
      createService(t, { name: 'shape', version, registry: `mx://${server.proxy}`, auth: ADMIN })
        .handle('Shape', { call: endpoint({ request, handle: (input) => ({ input }) }) })
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
    const raw = page.getByRole('textbox', { name: 'JSON request' })
    await raw.waitFor()
    t.same(JSON.parse(await raw.inputValue()), { name: 'typed', other: 'gone soon' })
  },
)
