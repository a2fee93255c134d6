import t from 'tap'
import { createConfig } from '../../../sdk/config/config.ts'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { waitForValue } from '../../fixtures/becomes.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { openClient } from '../../fixtures/sdk-services.ts'

const XSS = '<img src=x onerror="document.title=1">'

t.test('the configuration page', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const { page, server } = opened
  const client = openClient(t, { proxy: server.proxy, token: server.token })
  const config = createConfig(client)
  const field = page.getByRole('textbox', { name: 'Value', exact: true })
  const set = page.getByRole('button', { name: 'Set', exact: true })
  const item = (name: string) => page.getByRole('treeitem').filter({ hasText: name })

  t.test('shows an empty state and sets the first value', async (t) => {
    await page.goto('/config')
    await page.getByText('No values yet').waitFor()
    await page.getByRole('button', { name: 'New value' }).click()
    await page.getByRole('textbox', { name: 'Path' }).fill('shop..x')
    await field.fill('1')
    await set.click()
    const alert = page.getByRole('alert')
    await alert.getByText('must be at most 32 names').waitFor()
    t.equal(await field.inputValue(), '1', 'the input is preserved')
    await page.getByRole('textbox', { name: 'Path' }).fill('shop.limits')
    await field.fill('{"max": 9007199254740993, "name": "Ann"}')
    await set.click()
    await page.getByText('shop.limits saved as version 1').waitFor()
    await item('max').click()
    t.equal(await field.inputValue(), '9007199254740993')
    t.equal((await config.get('shop.limits.name')).string(), 'Ann')
  })

  t.test('shows changes by others without losing input', async (t) => {
    await config.set('shop.title', 'one')
    await page.goto('/config?path=shop.title')
    await field.waitFor()
    await config.set('shop.title', 'two')
    await item('title').getByText('"two"').waitFor()
    await waitForValue(t, () => field.inputValue(), 'two')
    await field.fill('mine')
    await config.set('shop.title', 'three')
    await page.getByText('changed by another user').waitFor()
    t.equal(await field.inputValue(), 'mine')
    await page.getByRole('button', { name: 'Use theirs' }).click()
    t.equal(await field.inputValue(), 'three')
    await field.fill('mine')
    await set.click()
    await page.getByText(/shop.title saved as version/).waitFor()
    t.equal((await config.get('shop.title')).string(), 'mine')
    await waitForValue(t, () => field.inputValue(), 'mine')
  })

  t.test('hides secrets until they are revealed', async (t) => {
    await config.set('shop.password', 'hunter2', { secret: true })
    await page.goto('/config?path=shop.password')
    await page.getByText('Secret value (hidden)').waitFor()
    t.notMatch(await page.content(), /hunter2/)
    await page.getByRole('button', { name: 'Reveal' }).click()
    await field.waitFor()
    t.equal(await field.inputValue(), 'hunter2')
    await page.getByRole('button', { name: 'Hide' }).click()
    await page.getByText('Secret value (hidden)').waitFor()
    await page.getByRole('textbox', { name: 'New value' }).fill('hunter3')
    await set.click()
    await page.getByText(/shop.password saved/).waitFor()
    await item('password').getByText('secret', { exact: true }).waitFor()
    t.equal((await config.get('shop.password')).string(), '[secret]')
    t.equal((await config.get('shop.password', { secret: true })).string(), 'hunter3')
  })

  t.test('preserves input across secrets, other values and the history', async (t) => {
    await config.set('keep', { plain: 'one' })
    await config.set('keep.pin', 'hunter2', { secret: true })
    await page.goto('/config?path=keep.pin')
    const fresh = page.getByRole('textbox', { name: 'New value' })
    await fresh.fill('hunter4')
    await page.getByRole('button', { name: 'Reveal' }).click()
    await page.getByText('Current value: hunter2').waitFor()
    t.equal(await field.inputValue(), 'hunter4')
    await page.getByRole('button', { name: 'Hide' }).click()
    t.equal(await fresh.inputValue(), 'hunter4')

    await item('plain').click()
    await field.fill('mine')
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('tab', { name: 'Values' }).click()
    t.equal(await field.inputValue(), 'mine')
    await page.getByRole('button', { name: 'New value' }).click()
    await page.getByRole('textbox', { name: 'Path' }).fill('keep.third')
    await field.fill('3')
    await item('pin').click()
    await fresh.waitFor()
    t.equal(await fresh.inputValue(), 'hunter4')
    await page.getByRole('button', { name: 'New value' }).click()
    t.equal(await page.getByRole('textbox', { name: 'Path' }).inputValue(), 'keep.third')
    t.equal(await field.inputValue(), '3')
    await set.click()
    await page.getByText('keep.third saved').waitFor()
    await page.getByRole('button', { name: 'New value' }).click()
    t.equal(await field.inputValue(), '', 'a stored value is not retained as input')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.goBack()
    await item('plain').click()
    t.equal(await field.inputValue(), 'mine', 'even after visiting another page')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    t.equal(await field.inputValue(), 'one')
  })

  t.test('deletes values, shows old versions and rolls back', async (t) => {
    await config.set('old.greeting', 'hello')
    await page.goto('/config?path=old')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deletes the entire subtree').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText(/^old deleted in version/).waitFor()
    t.notOk((await config.get('old')).exists())

    await page.getByRole('tab', { name: 'History' }).click()
    const versions = page.getByRole('table', { name: 'Versions' })
    await versions.getByRole('row').filter({ hasText: 'old.greeting' }).getByRole('button').click()
    const differences = page.getByRole('table', { name: /Changes since version/ })
    await differences.getByRole('row').filter({ hasText: '"hello"' }).waitFor()
    await page.getByRole('button', { name: /^Roll back to version/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
    await page.getByText(/^Rolled back to version/).waitFor()
    t.equal((await config.get('old.greeting')).string(), 'hello')
    await versions.getByRole('row').filter({ hasText: 'rollback' }).waitFor()
    await checkAccessibility(t, page, 'config-history')
  })

  t.test('renders names and values as text', async (t) => {
    await config.set('xss', { [XSS.replaceAll('.', '')]: XSS })
    await page.goto('/config?path=xss')
    await page.getByRole('region', { name: 'Subtree' }).getByText(XSS.slice(0, 15)).waitFor()
    t.equal(await page.locator('main img').count(), 0)
    await page.goto('/config?path=shop.title')
    await field.waitFor()
    await checkAccessibility(t, page, 'config')
  })

  t.test('shows an access error to other accounts', async (t) => {
    const ann = { id: 'ann', secret: 'ann-secret' }
    await client.call('auth', 'Auth.Generate', { ...ann, scopes: ['reader'] })
    const { page } = (await openDashboard(t, { server, account: ann, path: '/config' }))!
    await page.getByRole('alert').getByText('Forbidden: config of mx').waitFor()
    await page.getByRole('alert').getByText('Account ann').waitFor()
  })
})
