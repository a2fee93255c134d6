import type { Page } from 'playwright-core'
import t from 'tap'
import { createStore } from '../../../sdk/store/store.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { waitForValue } from '../../fixtures/becomes.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openClient } from '../../fixtures/sdk-services.ts'

const XSS = '<img src=x onerror="document.title=1">'

const row = (page: Page, key: string) =>
  page.getByRole('row').filter({ has: page.getByRole('button', { name: key, exact: true }) })

t.test('the store page', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  const client = openClient(t, { proxy: server.proxy, token: server.token })
  const value = page.getByRole('textbox', { name: 'Value' })
  const write = page.getByRole('button', { name: 'Save' })
  const openRecord = async (table: string, key: string): Promise<void> => {
    await page.goto(`/store?table=${table}`)
    await page.getByRole('button', { name: key, exact: true }).click()
  }

  t.test('shows records page by page, filtered by key prefix', async (t) => {
    const store = createStore(client, { table: 'pages' })
    const keys = Array.from({ length: 120 }, (_, i) => `user/${String(i).padStart(3, '0')}`)
    await Promise.all([...keys, 'other'].map((key) => store.write(key, { key })))
    await page.goto('/store')
    // Must not be one of the previous tables, which belong to built-in services.
    await page.getByRole('table', { name: 'Records of pages' }).waitFor()
    await page.goto('/store?table=pages')
    await page.getByText('Page 1, 50 records').waitFor()
    await page.getByRole('searchbox', { name: 'Key prefix' }).fill('user/')
    await page.getByRole('button', { name: 'user/000' }).waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByRole('button', { name: 'user/050' }).waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('Page 3, 20 records').waitFor()
    t.ok(await page.getByRole('button', { name: 'Next page' }).isDisabled())
    await page.getByRole('button', { name: 'Previous page' }).click()
    await page.getByText('Page 2, 50 records').waitFor()
    t.match(page.url(), /prefix=user%2F/)
  })

  t.test('edits a value without changing numbers or expiry', async (t) => {
    const store = createStore(client, { table: 'edits' })
    await store.write('ann', '{"id":9007199254740993}', { expirySeconds: 3600 })
    await openRecord('edits', 'ann')
    t.equal(await value.inputValue(), '{\n  "id": 9007199254740993\n}')
    await value.fill('{"id": 9007199254740995')
    await value.blur()
    await page.getByText(/invalid JSON: expected/).waitFor()
    t.ok(await write.isDisabled())
    await value.fill('{"id": 9007199254740995}')
    await write.click()
    await page.getByText('ann saved as version').waitFor()
    const [record] = await store.read('ann')
    t.equal(record!.text(), '{"id":9007199254740995}')
    t.ok(record!.expirySeconds! > 3500 && record!.expirySeconds! <= 3600)

    await page.getByRole('textbox', { name: 'Expires in' }).fill('soon')
    await page.getByText('must be a duration such as').waitFor()
    await page.getByRole('textbox', { name: 'Expires in' }).fill('never')
    await write.click()
    await row(page, 'ann').getByText('never').waitFor()
  })

  t.test('does not overwrite concurrent changes and preserves input', async (t) => {
    const store = createStore(client, { table: 'conflicts' })
    await store.write('ann', 'one')
    await openRecord('conflicts', 'ann')
    await value.fill('mine')
    await store.write('ann', 'theirs')
    await write.click()
    await page.getByText('changed by another user').waitFor()
    t.equal(await value.inputValue(), 'mine')
    t.equal((await store.read('ann'))[0]!.text(), 'theirs')
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await write.click()
    await page.getByText('ann saved as version').waitFor()
    t.equal((await store.read('ann'))[0]!.text(), 'mine')

    await value.fill('mine again')
    await store.delete('ann')
    await page.getByText('No records').waitFor()
    t.equal(await value.inputValue(), 'mine again', 'even of a deleted record')
    await write.click()
    await page.getByText('deleted by another user').waitFor()
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await write.click()
    await row(page, 'ann').getByText('mine again').waitFor()
  })

  t.test('preserves input of a record while other records are viewed', async (t) => {
    const store = createStore(client, { table: 'drafts' })
    await Promise.all(['ann', 'bob'].map((key) => store.write(key, key)))
    await openRecord('drafts', 'ann')
    await value.fill('mine')
    await page.getByRole('button', { name: 'bob', exact: true }).click()
    await page.getByRole('region', { name: 'Record bob' }).waitFor()
    t.equal(await value.inputValue(), 'bob')
    await page.getByRole('button', { name: 'New record' }).click()
    await value.fill('new')
    await page.getByRole('button', { name: 'ann', exact: true }).click()
    await page.getByRole('region', { name: 'Record ann' }).waitFor()
    t.equal(await value.inputValue(), 'mine')
    await write.click()
    await page.getByText('ann saved').waitFor()
    t.ok(await page.getByRole('button', { name: 'Discard changes' }).isDisabled())
    await page.getByRole('button', { name: 'New record' }).click()
    t.equal(await value.inputValue(), 'new')
  })

  t.test('accepts files unchanged unless they are too long', async (t) => {
    const store = createStore(client, { table: 'files' })
    await store.write('ann', 'one')
    await openRecord('files', 'ann')
    const file = { name: 'bytes', mimeType: 'application/octet-stream', buffer: Buffer.alloc(2e6) }
    const picker = page.getByLabel('File', { exact: true })
    await picker.setInputFiles(file)
    await page.getByText('bytes is too large: at most 1.0 MiB, got 1.9 MiB').waitFor()
    await picker.setInputFiles({ ...file, buffer: Buffer.alloc(1024 * 1024, 255) })
    await page.getByText('bytes, 1.0 MiB').waitFor()
    await write.click()
    await page.getByText('ann saved').waitFor()
    t.equal((await store.read('ann'))[0]!.value.length, 1024 * 1024)

    await page.getByRole('button', { name: 'New record' }).click()
    await page.getByRole('textbox', { name: 'Key' }).fill('bob')
    await page.evaluate(`(() => {
      const [area] = document.getElementsByTagName('textarea')
      area.value = 'x'.repeat(13_000_000)
      area.dispatchEvent(new InputEvent('input', { bubbles: true }))
    })()`)
    await write.click()
    await page.getByText('request must be at most 16777216 bytes').waitFor()
    t.equal(await page.getByText('Server unreachable').count(), 0)
    await page.getByRole('button', { name: 'Reload' }).click()
    await row(page, 'ann').waitFor()
  })

  t.test('shows changes by others live', async (t) => {
    const store = createStore(client, { table: 'live' })
    await store.write('ann', 'one')
    await openRecord('live', 'ann')
    await store.write('ann', 'two')
    await row(page, 'ann').getByText('two').waitFor()
    await waitForValue(t, () => value.inputValue(), 'two')
  })

  t.test('creates records as text, JSON or bytes, and deletes them', async (t) => {
    const store = createStore(client, { table: 'bytes' })
    await store.write('ann', 'one')
    await page.goto('/store?table=bytes')
    await page.getByRole('button', { name: 'New record' }).click()
    await page.getByRole('textbox', { name: 'Key' }).fill('ann')
    await page.getByRole('radio', { name: 'Hex' }).check()
    await value.fill('00 ff')
    await write.click()
    await page.getByRole('alert').getByText('409').waitFor()
    t.equal(await value.inputValue(), '00 ff', 'the input is preserved')
    await page.getByRole('textbox', { name: 'Key' }).fill('bob')
    await write.click()
    await page.getByText('bob saved').waitFor()
    t.strictSame([...(await store.read('bob'))[0]!.value], [0, 255])

    const editor = page.getByRole('region', { name: 'Record bob' })
    await editor.waitFor()
    t.equal(await value.inputValue(), '00 ff')
    t.ok(
      await editor.getByRole('radio', { name: 'Text' }).isDisabled(),
      'binary data has no text view',
    )
    await editor.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('bob deleted').waitFor()
    await editor.waitFor({ state: 'detached' })
    await t.rejects(store.read('bob'), { code: 404 })
  })

  t.test('renders data of services as text', async (t) => {
    await createStore(client, { table: 'xss' }).write(XSS, XSS)
    await openRecord('xss', XSS)
    t.equal(await value.inputValue(), XSS)
    t.equal(await page.locator('main img').count(), 0)
    t.match(await page.title(), /Store/)
    await checkAccessibility(t, page, 'store')
  })

  t.test('shows only the tables of the selected database', async (t) => {
    const store = createStore(client, { database: 'acme', table: 'orders' })
    await store.write('order/1', 'one')
    await page.goto('/store')
    const database = page.getByRole('combobox', { name: 'Database' })
    await database.selectOption('acme')
    await row(page, 'order/1').waitFor()
    t.equal(await page.getByRole('combobox', { name: 'Table' }).inputValue(), 'orders')
    t.equal(await page.getByText('not found').count(), 0)
  })

  t.test('shows the owner of reserved tables', async () => {
    await page.goto('/store?table=auth')
    const alert = page.getByRole('alert')
    await alert.getByText('Forbidden: records of mx/auth').waitFor()
    await alert.getByText('reserved for the service auth').waitFor()
  })

  t.test(
    'shows an access error to other accounts, and shows members their own database',
    async (t) => {
      const ann = { id: 'ann', secret: 'ann-secret' }
      await client.call('auth', 'Auth.Generate', { ...ann, scopes: ['reader'] })
      const { page } = (await openDashboard(t, { server, account: ann, path: '/store' }))!
      await page.getByRole('alert').getByText('Forbidden: tables of database mx').waitFor()
      await page
        .getByText('Other databases are available to administrators of the platform')
        .waitFor()
    },
  )
})
