// Cross-namespace accounts at every endpoint of a complete server.
import t from 'tap'
import { openAuthServer } from '../fixtures/auth-endpoints.ts'

t.setTimeout(120_000)

t.test(
  'every server sends accounts only to services in the namespace of the account',
  async (t) => {
    const { transports, sendRequest, logIn, admin } = await openAuthServer(t)
    const options = { namespace: 'acme' }
    await sendRequest('Auth.Generate', {
      id: 'joe',
      secret: 'a secret',
      scopes: ['admin'],
      options,
    })
    await sendRequest('Auth.Generate', { id: 'jane', secret: 'a secret' })
    const joe = await logIn('joe', 'a secret', 'acme')
    const jane = await logIn('jane', 'a secret')
    for (const [name, call] of Object.entries(transports)) {
      const readStatus = async (token: string, namespace?: string): Promise<unknown> => {
        const { code, body } = await call('helloworld', 'Helloworld.Call', {}, token, namespace)
        return code === 200 ? body.account : code
      }
      t.equal(await readStatus(joe), '', name)
      t.equal(await readStatus(joe, 'mx'), '', name)
      t.equal(await readStatus(joe, 'acme'), 'joe', name)
      t.equal(await readStatus(jane), 'jane', name)
      t.equal(await readStatus(jane, 'acme'), '', name)
      t.equal(await readStatus(admin, 'acme'), 'admin', name)
      const listed = await call('auth', 'Accounts.List', {}, joe)
      t.match(listed, { code: 403, body: { Detail: 'Access denied to namespace' } }, name)
    }
  },
)

t.test('changes the password of the account with any namespace selected', async (t) => {
  const { sendRequest, mx } = await openAuthServer(t)
  await sendRequest('Auth.Generate', { id: 'jane', secret: 'a secret' })
  const rule = {
    id: 'members',
    ...{ scope: '*', access: 'GRANTED', priority: 1 },
    resource: { type: '*', name: '*', endpoint: '*' },
  }
  const options = { namespace: 'acme' }
  await sendRequest('Rules.Create', { rule, options })
  await sendRequest('Rules.Delete', { id: 'default', options, force: true })
  t.match(await mx('login', '--username=jane', '--password=a secret'), { code: 0 })
  t.match(await mx('user', 'namespace', 'set', 'acme'), { code: 0 })
  const args = ['--old_password=a secret', '--new_password=another one']
  t.match(await mx('user', 'set', 'password', ...args), { code: 0, stderr: '' })
  t.match(await mx('login', '--namespace=mx', '--username=jane', '--password=another one'), {
    code: 0,
  })
})
