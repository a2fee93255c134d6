import type { Page } from 'playwright-core'
import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard, openSharedServer } from '../../fixtures/dashboard.ts'
import { ADMIN, type OpenServer, openServer } from '../../fixtures/server.ts'
import { openStalled } from '../../fixtures/stalled-connection.ts'

t.setTimeout(120_000)

/** Selection fields. */
const LISTS = new Set(['Access', 'To', 'Resource type'])
const JANE = { id: 'jane', secret: 'her secret' }

async function listRules({ post }: OpenServer): Promise<string[]> {
  const { body } = await post('/auth/rules/list', {})
  return body.rules.map(({ id }: { id: string }) => id)
}

/** Fills in the form for a new rule. */
async function makeRule(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  const form = page.getByRole('form', { name: 'New access rule' })
  if (!(await form.isVisible())) await page.getByText('New access rule', { exact: true }).click()
  for (const [label, value] of Object.entries(fields)) {
    const field = form.getByLabel(label, { exact: true })
    if (LISTS.has(label)) await field.selectOption(value)
    else await field.fill(value)
  }
  await form.getByRole('button', { name: 'Create rule' }).click()
}

t.test('lists rules in evaluation order, creates and deletes them', async (t) => {
  const server = await openServer(t)
  const opened = await openDashboard(t, { server, path: '/auth?tab=rules' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('row', { name: /default/ }).waitFor()
  await makeRule(page, { ID: 'staff', 'Resource name': 'a b' })
  await page.getByText(/request\.rule\.resource\.name must be/).waitFor()
  await makeRule(page, { 'Resource name': 'helloworld', To: 'custom', Scope: 'staff' })
  await page.getByRole('row', { name: /staff/ }).waitFor()
  const rejection = { ID: 'no', Access: 'DENIED', 'Resource name': 'helloworld', Priority: '5' }
  await makeRule(page, rejection)
  await page.getByRole('row', { name: /denied/ }).waitFor()
  const table = page.getByRole('table', { name: 'Rules' })
  t.strictSame(
    await table.getByRole('rowheader').allTextContents(),
    ['no', 'default', 'staff'],
    'order of evaluation',
  )
  await checkAccessibility(t, page, 'auth-rules')
  await page.getByRole('button', { name: 'Delete access rule no' }).click()
  await page.getByRole('button', { name: 'Delete rule' }).click()
  await page.getByRole('row', { name: /denied/ }).waitFor({ state: 'detached' })
  t.strictSame(await listRules(server), ['default', 'staff'])
})

t.test('asks for confirmation before a change that locks everyone out', async (t) => {
  const server = await openServer(t)
  const opened = await openDashboard(t, { server, path: '/auth?tab=rules' })
  if (opened === undefined) return
  const { page } = opened
  const remove = page.getByRole('button', { name: 'Delete access rule default' })
  const dialog = page.getByRole('dialog', { name: 'Delete access rule default?' })
  const warned = page.getByRole('dialog', { name: 'This may lock you out' })
  await remove.click()
  await dialog.getByRole('button', { name: 'Delete rule' }).click()
  await warned.getByText('no rule allows logins after this change').waitFor()
  await checkAccessibility(t, page, 'auth-lock-out')
  await warned.getByRole('button', { name: 'Cancel' }).click()
  await warned.waitFor({ state: 'detached' })
  t.strictSame(await listRules(server), ['default'], 'nothing was changed')

  const rejection = { ID: 'deny-auth', Access: 'DENIED', 'Resource name': 'auth', Priority: '9' }
  await makeRule(page, rejection)
  await warned.getByRole('button', { name: 'Cancel' }).click()
  t.strictSame(await listRules(server), ['default'], 'a denying rule was not created either')

  await remove.click()
  await dialog.getByRole('button', { name: 'Delete rule' }).click()
  await warned.getByRole('button', { name: 'Change anyway' }).click()
  await page.getByRole('row', { name: /default/ }).waitFor({ state: 'detached' })
  t.strictSame(await listRules(server), [], 'an operator still lists the rules')
})

t.test('shows the requests counted by quotas', async (t) => {
  const server = await openServer(t)
  const counter = { quota: 'daily', period: 'day', namespace: 'mx', account: 'jane', apiKey: '' }
  for (let i = 0; i < 8; i++)
    await server.post('/auth/requestQuotas/reserve', { counter, limit: 10, requests: 1 })
  const opened = await openDashboard(t, { server, path: '/auth?tab=quotas' })
  if (opened === undefined) return
  const { page } = opened
  const row = page.getByRole('row', { name: /jane/ })
  await row.getByText('8 of 10').waitFor()
  await row.getByText('80 %', { exact: true }).waitFor()
  await checkAccessibility(t, page, 'auth-quotas')
})

t.test('the test view shows the callers of an endpoint, and the rule that applies', async (t) => {
  const server = await openServer(t)
  await server.post('/auth/generate', JANE)
  const resource = { type: 'service', name: 'registry', endpoint: 'Registry.Register' }
  const rule = { id: 'no-jane', scope: '*', access: 'DENIED', resource, priority: 1 }
  await server.post('/auth/rules/create', { rule })
  const opened = await openDashboard(t, { server, path: '/auth?tab=test' })
  if (opened === undefined) return
  const { page } = opened
  const form = page.getByRole('form', { name: 'Test access rules' })
  const sendRequest = () => form.getByRole('button', { name: 'Test' }).click()
  await form.getByLabel('Account').fill('jane')
  await form.getByLabel('Name').fill('registry')
  await form.getByLabel('Endpoint').fill('Registry.Register')
  await sendRequest()
  await page.getByText('0 of 1 granted').waitFor()
  const row = page.getByRole('row', { name: /Registry\.Register/ })
  await row.getByText('no-jane', { exact: true }).waitFor()
  await row.getByText('denied service:registry:Registry.Register to all accounts of mx').waitFor()

  await form.getByLabel('Endpoint').fill('')
  await form.getByLabel('Caller').selectOption('anonymous')
  await sendRequest()
  await page.getByText(/^(\d+) of \1 granted$/).waitFor()
  await row.getByText('default', { exact: true }).waitFor()
  await checkAccessibility(t, page, 'auth-test')

  await form.getByLabel('Endpoint').fill('Registry.Register')
  await form.getByLabel('Caller').selectOption('all')
  await sendRequest()
  await page.getByText(/^1 of \d granted$/).waitFor()
  await page.getByRole('row', { name: /anonymous .*granted/ }).waitFor()
  await page.getByRole('row', { name: /^jane .*denied/ }).waitFor()

  await form.getByLabel('Name').fill('unheard')
  await form.getByLabel('Endpoint').fill('')
  await sendRequest()
  await form.getByText('required: the endpoints of unheard are unknown').waitFor()
})

t.test('shows an account without administration rights its own rights', async (t) => {
  const server = await openSharedServer()
  await server.post('/auth/generate', JANE)
  const opened = await openDashboard(t, { server, account: JANE, path: '/auth' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByText('Forbidden: list of accounts (auth Accounts.List)').waitFor()
  await page.getByRole('tab', { name: 'Rules' }).click()
  await page.getByRole('row', { name: /default/ }).waitFor()
  await makeRule(page, { ID: 'mine', 'Resource name': '*' })
  await page.getByText('Forbidden: create access rule mine (auth Rules.Create)').waitFor()
  await page.getByRole('tab', { name: 'Test' }).click()
  const form = page.getByRole('form', { name: 'Test access rules' })
  await form.getByText('Without the admin scope you can test only your own account.').waitFor()
  await form.getByLabel('Name').fill('registry')
  await form.getByRole('button', { name: 'Test' }).click()
  await page.getByText(/^(\d+) of \1 granted$/).waitFor()
  await checkAccessibility(t, page, 'auth-forbidden')
})

t.test('preserves input for accounts, rules and tests', async (t) => {
  const opened = await openDashboard(t)
  if (opened === undefined) return
  const stalled = await openStalled(opened.context, '/auth')
  const { page } = stalled
  await page.getByText('New account', { exact: true }).click()
  await page.getByRole('form', { name: 'New account' }).getByLabel('Id').fill('jane')
  await page.getByRole('tab', { name: 'Rules' }).click()
  await page.getByText('New access rule', { exact: true }).click()
  await page.getByRole('form', { name: 'New access rule' }).getByLabel('Id').fill('staff')
  await page.getByRole('tab', { name: 'Test' }).click()
  await page.getByRole('form', { name: 'Test access rules' }).getByLabel('Name').fill('shop')

  await stalled.cut()
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Access' }).click()
  const account = page.getByRole('form', { name: 'New account' }).getByLabel('Id')
  await account.waitFor()
  t.equal(await account.inputValue(), 'jane')
  await page.getByRole('tab', { name: 'Rules' }).click()
  const rule = page.getByRole('form', { name: 'New access rule' }).getByLabel('Id')
  await rule.waitFor()
  t.equal(await rule.inputValue(), 'staff')
  await page.getByRole('tab', { name: 'Test' }).click()
  const name = page.getByRole('form', { name: 'Test access rules' }).getByLabel('Name')
  await name.waitFor()
  t.equal(await name.inputValue(), 'shop')

  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('textbox', { name: 'Account' }).fill(ADMIN.id)
  await page.getByLabel('Password').fill(ADMIN.secret)
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'Test' }).click()
  await name.waitFor()
  t.equal(await name.inputValue(), '', 'a logout clears the input')
})

/** Markup in every text that accounts control. */
const SCRIPT = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>'

/** Status of a login at the gateway. */
async function logIn({ post }: OpenServer, id: string, secret: string): Promise<number> {
  return (await post('/auth/token', { id, secret }, { authorization: '' })).status
}

t.test('creates an account, changes its secret and deletes it', async (t) => {
  const server = await openServer(t)
  const opened = await openDashboard(t, { server })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('link', { name: 'Access' }).click()
  await page.getByRole('button', { name: 'Account admin' }).waitFor()
  await page.getByText('New account').click()
  const form = page.getByRole('form', { name: 'New account' })
  await form.getByLabel('Id').fill('a/b')
  await form.getByLabel('Scopes').fill('reader, staff')
  await form.getByLabel('Metadata').fill(`note=${SCRIPT}`)
  const make = form.getByRole('button', { name: 'Create account' })
  await make.click()
  await form.getByText('request.id must be at most 128 characters').waitFor()
  t.equal(await form.getByLabel('Scopes').inputValue(), 'reader, staff', 'the input is preserved')
  await checkAccessibility(t, page, 'auth-account-invalid')
  await form.getByLabel('Id').fill('jane')
  await make.click()
  const created = page.getByRole('dialog', { name: 'Account jane created' })
  const secret = (await created.locator('code').textContent()) ?? ''
  t.equal(await logIn(server, 'jane', secret), 200)
  await checkAccessibility(t, page, 'auth-account-made')
  const leaveAndReturn = async (): Promise<void> => {
    await page.evaluate('history.back()')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.evaluate('history.forward()')
    await page.locator('h1', { hasText: 'Access' }).waitFor()
  }
  await leaveAndReturn()
  t.equal(await created.locator('code').textContent(), secret, 'shown until it is confirmed')
  await created.getByRole('button', { name: 'Close' }).click()
  await leaveAndReturn()
  t.equal(await created.count(), 0)

  const account = page.getByRole('dialog', { name: 'Account jane' })
  const open = () => page.getByRole('button', { name: 'Account jane', exact: true }).click()
  await open()
  await account.getByText('reader, staff').waitFor()
  await account.getByText(SCRIPT).waitFor()
  t.equal(await page.evaluate('window.wasRun'), undefined)
  await checkAccessibility(t, page, 'auth-account')
  await account.getByRole('button', { name: 'Change password…' }).click()
  const changing = page.getByRole('dialog', { name: 'Change password of jane' })
  await changing.getByLabel('New password', { exact: true }).fill('another one')
  await changing.getByLabel('Confirm password').fill('mistyped')
  await changing.getByRole('button', { name: 'Change password' }).click()
  await changing.getByText('does not match').waitFor()
  await checkAccessibility(t, page, 'auth-secret')
  await changing.getByLabel('Confirm password').fill('another one')
  await changing.getByRole('button', { name: 'Change password' }).click()
  await changing.waitFor({ state: 'detached' })
  t.equal(await logIn(server, 'jane', 'another one'), 200)

  await open()
  await account.getByRole('button', { name: 'Log out everywhere…' }).click()
  await page.getByRole('button', { name: 'Log out', exact: true }).last().click()
  await page.getByText('jane logged out everywhere').waitFor()

  await open()
  await account.getByRole('button', { name: 'Delete…' }).click()
  const deletion = page.getByRole('dialog', { name: 'Delete account jane?' })
  await deletion.getByRole('button', { name: 'Cancel' }).click()
  t.equal(await logIn(server, 'jane', 'another one'), 200, 'the secret is unchanged')
  await open()
  await account.getByRole('button', { name: 'Delete…' }).click()
  await deletion.getByRole('button', { name: 'Delete account' }).click()
  await page.getByRole('button', { name: 'Account jane' }).waitFor({ state: 'detached' })
  t.equal(await logIn(server, 'jane', 'another one'), 400)

  await page.getByRole('button', { name: 'Account admin' }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete account' }).click()
  await page.getByText("Can't delete your own account").waitFor()
})

t.test(
  'changes the secret of the account with the current one and requires a new login',
  async (t) => {
    const server = await openSharedServer()
    await server.post('/auth/generate', JANE)
    const opened = await openDashboard(t, { server, account: JANE, path: '/auth' })
    if (opened === undefined) return
    const { page } = opened
    await page.getByRole('button', { name: 'Change my password…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Change password of jane' })
    await dialog.getByLabel('Current password').fill('wrong')
    await dialog.getByLabel('New password', { exact: true }).fill('another one')
    await dialog.getByLabel('Confirm password').fill('another one')
    await dialog.getByRole('button', { name: 'Change password' }).click()
    await dialog.getByText(/Secret not correct/).waitFor()
    await dialog.getByLabel('Current password').fill(JANE.secret)
    await dialog.getByRole('button', { name: 'Change password' }).click()
    await page.getByRole('heading', { name: 'Session expired' }).waitFor()
    t.equal(await logIn(server, 'jane', 'another one'), 200)
  },
)
