import { join } from 'node:path'
import t from 'tap'
import logoutCommand from '../../../cli/commands/logout.ts'
import { readConfig } from '../../../cli/state/config.ts'
import { readCredentials } from '../../../cli/state/tokens.ts'
import { openCliServer } from '../../fixtures/cli-server.ts'
import { asUnprivilegedUser } from '../../fixtures/unprivileged-user.ts'

const { run, post, proxy, home } = await openCliServer(t)
const OWNER = { address: proxy, namespace: 'mx', account: 'admin' }

/** Whether a refresh token is still good for another one. */
async function holds(refresh_token: string): Promise<boolean> {
  const { status } = await post('/auth/auth/token', { refresh_token })
  return status === 200
}

t.test(
  'where nothing can be written the login is revoked nonetheless, and that is told',
  async (t) => {
    const { refreshToken } = readCredentials(OWNER)!
    await asUnprivilegedUser(t, join(home, '.mx'), () =>
      t.rejects(run(logoutCommand), { message: /tokens cannot be written: EACCES/ }),
    )
    t.ok(readCredentials(OWNER), 'it is still there')
    t.notOk(await holds(refreshToken), 'and good for nothing')
  },
)

t.test('who is logged out is forgotten', async (t) => {
  await run(logoutCommand)
  t.equal(readCredentials(OWNER), undefined)
  t.equal(readConfig().get('local.current-user'), '')
})
