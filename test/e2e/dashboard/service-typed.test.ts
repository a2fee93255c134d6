import type { Page } from 'playwright-core'
import t from 'tap'
import { type TSchema, Type } from '../../../core/schema.ts'
import { Bytes } from '../../../sdk/schema/schema-types.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { openDashboard, openSharedServer } from '../../fixtures/dashboard.ts'
import { startMirror } from '../../fixtures/mirror-service.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { ADMIN } from '../../fixtures/server.ts'

t.setTimeout(120_000)

/** Makes file reads in the page wait for the test. */
const DELAY_FILES = `(() => {
  const read = FileReader.prototype.readAsDataURL
  FileReader.prototype.readAsDataURL = function (file) {
    window.readOn = () => read.call(this, file)
  }
})()`

const field = (page: Page, path: string) =>
  page.locator(`[data-path=${JSON.stringify(path)}]`).first()
const typeInto = (page: Page, path: string, text: string) =>
  field(page, path).locator('input, textarea').first().fill(text)
const clickButton = (page: Page, name: string) =>
  page.getByRole('button', { name, exact: true }).click()

t.test('input', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  await startMirror(t, server)
  const open = async (endpoint: string): Promise<void> => {
    await page.goto(`/services/mirror?endpoint=${endpoint}`)
    await page.getByRole('heading', { name: endpoint, exact: true }).waitFor()
  }

  t.test('switches between JSON and form, even while it is invalid', async (t) => {
    await open('Mirror.Show')
    await typeInto(page, 'request.name', 'Ann')
    await typeInto(page, 'request.count', 'abc')
    await clickButton(page, 'JSON')
    const raw = page.getByRole('textbox', { name: 'JSON request' })
    t.match(JSON.parse(await raw.inputValue()), { name: 'Ann', count: 'abc' })
    await clickButton(page, 'Form')
    t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'Ann')
    t.equal(await field(page, 'request.count').locator('input').inputValue(), 'abc')
  })

  t.test('is preserved while a file is read', async (t) => {
    await open('Mirror.Show')
    await page.evaluate(DELAY_FILES)
    await field(page, 'request.data')
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.bin', mimeType: '', buffer: Buffer.from([255, 0, 1]) })
    await typeInto(page, 'request.name', 'meanwhile')
    await page.evaluate('readOn()')
    await page.getByText('a.bin, 3 B').waitFor()
    t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'meanwhile')
  })

  t.test('appears in commands without secrets unless they are revealed', async (t) => {
    await open('Mirror.Show')
    await typeInto(page, 'request.name', 'Ann')
    await typeInto(page, 'request.secret', 'the pin')
    await typeInto(page, 'request.inner.domain', 'd')
    await page.getByText('Commands', { exact: true }).click()
    const commands = page.locator('.call-commands')
    await commands.getByText('Secrets are masked as ********.').waitFor()
    t.match(await commands.textContent(), '"secret":"********"')
    t.notMatch(await commands.textContent(), 'the pin')
    await clickButton(page, 'Show secrets')
    await commands.getByText('The shell may store secrets in its history.').waitFor()
    t.match(await commands.textContent(), '"secret":"the pin"')
  })
})

t.test('carries over to another version, even while it is invalid', async (t) => {
  const server = await openSharedServer()
  const start = (version: string, request: TSchema): Promise<string> =>
    createService(t, { name: 'shape', version, registry: `mx://${server.proxy}`, auth: ADMIN })
      .handle('Shape', { call: endpoint({ request, handle: (input) => ({ input }) }) })
      .start()
  const before = { name: Type.String(), must: Type.String() }
  await start('v1', Type.Object(before))
  const opened = await openDashboard(t, { server, path: '/services/shape?endpoint=Shape.Call' })
  if (opened === undefined) return
  const { page } = opened
  await typeInto(page, 'request.name', 'typed')
  await start('v2', Type.Object({ ...before, other: Type.Optional(Type.String()) }))
  await field(page, 'request.other').waitFor()
  t.equal(await field(page, 'request.name').locator('textarea').inputValue(), 'typed')
})

t.test('stores calls per namespace and account', async (t) => {
  const server = await openSharedServer()
  await startMirror(t, server)
  const opened = await openDashboard(t, {
    server,
    path: '/services/mirror?endpoint=Mirror.Anything',
  })
  if (opened === undefined) return
  const { page } = opened
  await clickButton(page, 'Call')
  await page.getByText('History (1)').waitFor()
  t.type(await page.evaluate('localStorage.getItem("mx.calls.mx/admin")'), 'string')
})

t.test('long messages and large responses', async (t) => {
  const server = await openSharedServer()
  const text = 'x'.repeat(500)
  await createService(t, {
    name: 'large',
    version: 'v1',
    registry: `mx://${server.proxy}`,
    auth: ADMIN,
  })
    .handle('Large', {
      cube: endpoint({
        handle: () => {
          const fill = (makeItem: () => unknown) => Array.from({ length: 100 }, makeItem)
          return { cube: fill(() => fill(() => fill(() => 1))) }
        },
      }),
      stream: endpoint({
        stream: 'server',
        *handle() {
          yield { text }
        },
      }),
      feed: endpoint({
        stream: 'both',
        request: Type.Object({ one: Bytes(), other: Type.Optional(Bytes()) }),
        async *handle(requests) {
          for await (const { one } of requests) yield { length: one.length }
        },
      }),
    })
    .start()
  const opened = await openDashboard(t, { server, path: '/services/large?endpoint=Large.Cube' })
  if (opened === undefined) return
  const { page } = opened

  t.test('a large response is rendered partially at first', async (t) => {
    await clickButton(page, 'Call')
    await page.getByText('200 OK').waitFor()
    const renderedCount = await page.locator('.response .json-members > li').count()
    t.ok(renderedCount > 100 && renderedCount <= 2200, `${renderedCount} members`)
  })

  t.test('a long message is rendered when it is expanded', async (t) => {
    await page.goto('/services/large?endpoint=Large.Stream')
    await clickButton(page, 'Open stream')
    await page.getByText('ended', { exact: true }).waitFor()
    const message = page.locator('.stream-message')
    t.equal(await message.locator('.json').count(), 0)
    await message.locator('summary').click()
    await message.locator('.json').waitFor()
  })

  t.test(
    'a message that is too long is rejected by the page, and its stream stays open',
    async () => {
      await page.goto('/services/large?endpoint=Large.Feed')
      await clickButton(page, 'Open without a message')
      for (const [name, mebibytes] of [
        ['one', 1.5],
        ['other', 11],
      ] as const) {
        await field(page, `request.${name}`)
          .locator('input[type=file]')
          .setInputFiles({ name, mimeType: '', buffer: Buffer.alloc(mebibytes * 1024 * 1024) })
        await page.getByText(`${name}, ${mebibytes.toFixed(1)} MiB`).waitFor()
      }
      await clickButton(page, 'Send message')
      await page.getByText('must be at most 16777216 bytes, got').first().waitFor()
      await field(page, 'request.other').getByRole('button', { name: 'Remove file' }).click()
      await clickButton(page, 'Send message')
      await page.getByRole('list', { name: 'Messages' }).getByText('{"length":1572864}').waitFor()
    },
  )
})

t.test(
  'input is private to an account, even if an account in another namespace has the same name',
  async (t) => {
    const server = await openSharedServer()
    await startMirror(t, server)
    const other = { id: ADMIN.id, secret: 'another secret' }
    const created = await server.post('/auth/generate', {
      ...other,
      options: { namespace: 'acme' },
    })
    t.equal(created.status, 200)
    const path = '/services/mirror?endpoint=Mirror.Slow'
    const opened = await openDashboard(t, { server, path })
    if (opened === undefined) return
    const { page, context, url } = opened
    const name = field(page, 'request.name').locator('textarea')
    const namespace = page.locator('.account input[name=namespace]')
    await name.fill('typed')
    await context.request.post(`${url}/logout`, { headers: { origin: url } })
    const dialog = page.getByRole('dialog', { name: 'Session expired' })
    await dialog.getByLabel('Password').fill(other.secret)
    await dialog.getByLabel('Namespace').fill('acme')
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.waitFor({ state: 'detached' })
    // The two accounts now differ only in their issuer.
    await namespace.fill('mx')
    await namespace.press('Enter')
    await page.getByRole('link', { name: 'Stream.Sum' }).click()
    await page.getByRole('link', { name: 'Mirror.Slow' }).click()
    await name.waitFor()
    t.equal(await namespace.inputValue(), 'mx')
    t.equal(await name.inputValue(), '')
  },
)
