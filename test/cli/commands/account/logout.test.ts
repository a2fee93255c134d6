import { join } from 'node:path'
import t from 'tap'
import logoutCommand from '../../../../cli/commands/account/logout.ts'
import { readConfig } from '../../../../cli/state/config.ts'
import { readCredentials } from '../../../../cli/state/tokens.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { asUnprivilegedUser } from '../../../fixtures/unprivileged-user.ts'

const { run, post, proxy, home } = await openCliServer(t)
const OWNER = { address: proxy, namespace: 'mx', account: 'admin' }

/** Whether a refresh token is still valid. */
async function isValid(refresh_token: string): Promise<boolean> {
  const { status } = await post('/auth/auth/token', { refresh_token })
  return status === 200
}

t.test(
  'with an unwritable state folder, logout revokes the login and reports the error',
  async (t) => {
    const { refreshToken } = readCredentials(OWNER)!
    await asUnprivilegedUser(t, join(home, '.mx'), () =>
      t.rejects(run(logoutCommand), { message: /tokens cannot be written: EACCES/ }),
    )
    t.ok(readCredentials(OWNER), 'the file is unchanged')
    t.notOk(await isValid(refreshToken), 'the refresh token is revoked')
  },
)

t.test('logout deletes the stored tokens and the current account', async (t) => {
  await run(logoutCommand)
  t.equal(readCredentials(OWNER), undefined)
  t.equal(readConfig().get('local.current-user'), '')
})
