import t from 'tap'
import { checkAccessibility } from '../../fixtures/accessibility.ts'
import { openDashboard } from '../../fixtures/dashboard.ts'
import { type OpenServer, openServer } from '../../fixtures/server.ts'

t.setTimeout(120_000)

/** In all that accounts control. */
const SCRIPT = '<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>'
const JANE = { id: 'jane', secret: 'her secret' }

/** Status of a login at the gateway. */
async function logIn({ post }: OpenServer, id: string, secret: string): Promise<number> {
  return (await post('/auth/token', { id, secret }, { authorization: '' })).status
}

t.test('an account is made, gets another secret, and is deleted', async (t) => {
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
  const make = form.getByRole('button', { name: 'Make account' })
  await make.click()
  await form.getByText('request.id must be up to 128 characters').waitFor()
  t.equal(await form.getByLabel('Scopes').inputValue(), 'reader, staff', 'it is still there')
  await checkAccessibility(t, page, 'auth-account-invalid')
  await form.getByLabel('Id').fill('jane')
  await make.click()
  const told = page.getByRole('dialog', { name: 'The account jane was made' })
  const secret = (await told.locator('code').textContent()) ?? ''
  t.equal(await logIn(server, 'jane', secret), 200)
  await checkAccessibility(t, page, 'auth-account-made')
  const goAndComeBack = async (): Promise<void> => {
    await page.evaluate('history.back()')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.evaluate('history.forward()')
    await page.locator('h1', { hasText: 'Access' }).waitFor()
  }
  await goAndComeBack()
  t.equal(await told.locator('code').textContent(), secret, 'it waits until it was read')
  await told.getByRole('button', { name: 'Close' }).click()
  await goAndComeBack()
  t.equal(await told.count(), 0)

  const account = page.getByRole('dialog', { name: 'Account jane' })
  const open = () => page.getByRole('button', { name: 'Account jane', exact: true }).click()
  await open()
  await account.getByText('reader, staff').waitFor()
  await account.getByText(SCRIPT).waitFor()
  t.equal(await page.evaluate('window.wasRun'), undefined)
  await checkAccessibility(t, page, 'auth-account')
  await account.getByRole('button', { name: 'Change secret…' }).click()
  const changing = page.getByRole('dialog', { name: 'Change the secret of jane' })
  await changing.getByLabel('New secret', { exact: true }).fill('another one')
  await changing.getByLabel('New secret again').fill('mistyped')
  await changing.getByRole('button', { name: 'Change secret' }).click()
  await changing.getByText('the two are not the same').waitFor()
  await checkAccessibility(t, page, 'auth-secret')
  await changing.getByLabel('New secret again').fill('another one')
  await changing.getByRole('button', { name: 'Change secret' }).click()
  await changing.waitFor({ state: 'detached' })
  t.equal(await logIn(server, 'jane', 'another one'), 200)

  await open()
  await account.getByRole('button', { name: 'Log out everywhere…' }).click()
  await page.getByRole('button', { name: 'Log out', exact: true }).last().click()
  await page.getByText('jane was logged out everywhere').waitFor()

  await open()
  await account.getByRole('button', { name: 'Delete…' }).click()
  const asked = page.getByRole('dialog', { name: 'Delete the account jane?' })
  await asked.getByRole('button', { name: 'Cancel' }).click()
  t.equal(await logIn(server, 'jane', 'another one'), 200, 'nothing happened')
  await open()
  await account.getByRole('button', { name: 'Delete…' }).click()
  await asked.getByRole('button', { name: 'Delete account' }).click()
  await page.getByRole('button', { name: 'Account jane' }).waitFor({ state: 'detached' })
  t.equal(await logIn(server, 'jane', 'another one'), 400)

  await page.getByRole('button', { name: 'Account admin' }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete account' }).click()
  await page.getByText("Can't delete your own account").waitFor()
})

t.test('whoever changes the own secret knows the old one, and logs in again', async (t) => {
  const server = await openServer(t)
  await server.post('/auth/generate', JANE)
  const opened = await openDashboard(t, { server, account: JANE, path: '/auth' })
  if (opened === undefined) return
  const { page } = opened
  await page.getByRole('button', { name: 'Change my secret…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Change the secret of jane' })
  await dialog.getByLabel('Old secret').fill('wrong')
  await dialog.getByLabel('New secret', { exact: true }).fill('another one')
  await dialog.getByLabel('New secret again').fill('another one')
  await dialog.getByRole('button', { name: 'Change secret' }).click()
  await dialog.getByText(/Secret not correct/).waitFor()
  await dialog.getByLabel('Old secret').fill(JANE.secret)
  await dialog.getByRole('button', { name: 'Change secret' }).click()
  await page.getByRole('heading', { name: 'The login has ended' }).waitFor()
  t.equal(await logIn(server, 'jane', 'another one'), 200)
})
