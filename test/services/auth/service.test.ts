import t from 'tap'
import {
  ADMIN,
  nextMessageOf,
  openPlatformAuth,
  type TokenReply,
} from '../../fixtures/platform-auth.ts'

t.test('creates an account that logs in and inspects its token', async (t) => {
  const { call } = await openPlatformAuth(t)
  const { account } = await call<{ account: { secret: string } }>(
    'Auth.Generate',
    { id: 'jane', scopes: ['reader'] },
    ADMIN,
  )
  const jane = { id: 'jane', name: 'jane', type: 'user', issuer: 'mx', scopes: ['reader'] }
  t.match(account, { ...jane, metadata: {}, created: 1_800_000_000 })
  const login = { id: 'jane', secret: account.secret }
  const { token } = await call<TokenReply>('Auth.Token', login)
  t.same([token.created, token.expiry], [1_800_000_000, 1_800_000_900])
  const inspected = await call('Auth.Inspect', { token: token.access_token })
  t.same(inspected, { account: { ...jane, metadata: {}, created: 1_800_000_000 } })
})

t.test('ends watches with an error when the service stops', async (t) => {
  const { watch, close } = await openPlatformAuth(t)
  const rules = watch('Rules.Watch', {}, ADMIN)
  const tokens = watch('Auth.Watch')
  await nextMessageOf(rules)
  await nextMessageOf(tokens)
  const pending = [rules.next(), tokens.next()].map((end) =>
    t.rejects(end, { code: 503, message: 'the auth service is stopping' }),
  )
  await close()
  await Promise.all(pending)
})

t.test('limits the number of watchers', async (t) => {
  const { watch } = await openPlatformAuth(t, { maxWatchers: 1 })
  await nextMessageOf(watch('Auth.Watch'))
  await t.rejects(watch('Auth.Watch').next(), { code: 429, id: 'auth.Auth.Watch' })
})
