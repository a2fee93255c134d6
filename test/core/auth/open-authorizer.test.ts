import t, { type Test } from 'tap'
import { createDeferredAuthorizer } from '../../../core/auth/open-authorizer.ts'
import { GatewayError } from '../../../core/errors.ts'
import { waitUntil } from '../../contracts/registry.ts'
import { createAccount, MemoryAuthSource } from '../../fixtures/auth-source.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'

const resource = { type: 'service', name: 'greeter', endpoint: 'A.B' }

async function openWithSource(t: Test) {
  const { log, lines } = createQuietLog()
  const { authorizer, setSource } = createDeferredAuthorizer(log)
  t.teardown(authorizer.close)
  const source = new MemoryAuthSource()
  setSource(source)
  await authorizer.decide({ namespace: 'mx', account: undefined, resource })
  return { authorizer, lines, source }
}

t.test('the log reports outages and rejected tokens, but no token', async (t) => {
  const { authorizer, lines, source } = await openWithSource(t)
  const stale = await source.issue(createAccount(), { nowMs: Date.now() - 3_600_000 })
  await t.rejects(async () => authorizer.identify(stale))
  source.disconnect(new Error('gone'))
  await waitUntil(() => lines.some((line) => line.includes('rules and keys unavailable')))
  source.recover()
  await waitUntil(() => lines.some((line) => line.includes('rules and keys available again')))
  t.match(lines.join(''), /"level":40[^\n]*"reason":"gone"/)
  t.match(lines.join(''), /"access token rejected"/)
  t.notMatch(lines.join(''), stale.slice(-20))
})

t.test('an outage because auth is stopping is logged as info, not as a warning', async (t) => {
  const { lines, source } = await openWithSource(t)
  source.disconnect(new GatewayError('auth', 503, 'the auth service is stopping'))
  await waitUntil(() => lines.some((line) => line.includes('rules and keys unavailable')))
  t.match(lines, [/"level":30.*"reason":"the auth service is stopping"/])
})
