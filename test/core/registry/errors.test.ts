import t from 'tap'
import { createConsulError } from '../../../adapters/registry/consul/http/errors.ts'
import { GatewayError } from '../../../core/errors.ts'
import { isPermanent, toRegistryFault } from '../../../core/registry/errors.ts'

t.test('a TypeError and a denied access are permanent errors', async (t) => {
  t.equal(isPermanent(new TypeError('the version must be text')), true)
  t.equal(isPermanent(createConsulError('the token needs service:write', { denied: true })), true)
})

t.test('other errors are outages', async (t) => {
  for (const thrown of [
    new Error('connect ECONNREFUSED'),
    createConsulError('Consul answers 500: No cluster leader'),
    Object.assign(new Error('x'), { denied: 'no' }),
    { denied: true },
    'gone',
    undefined,
  ])
    t.equal(isPermanent(thrown), false)
})

t.test('toRegistryFault returns denied or unavailable, without the reason', async (t) => {
  const tooMany = new Error('refuses (429): too many failed logins', {
    cause: new GatewayError('auth', 429, 'too many failed logins'),
  })
  for (const rejection of [
    createConsulError('the token secret needs service:read', { denied: true }),
    new TypeError('refuses: Secret not correct'),
    tooMany,
  ])
    t.equal(toRegistryFault(rejection), 'the registry denies access')
  for (const outage of [new Error('connect ECONNREFUSED'), undefined])
    t.equal(toRegistryFault(outage), 'the registry is unavailable')
})
