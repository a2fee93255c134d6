import t from 'tap'
import { createConsulError } from '../../adapters/registry/consul/errors.ts'
import { isRefusal } from '../../core/registry-refusal.ts'

t.test('what is malformed, and what is denied, is a refusal', async (t) => {
  t.equal(isRefusal(new TypeError('the version must be text')), true)
  t.equal(isRefusal(createConsulError('the token needs service:write', { denied: true })), true)
})

t.test('everything else is an outage', async (t) => {
  for (const thrown of [
    new Error('connect ECONNREFUSED'),
    createConsulError('Consul answers 500: No cluster leader'),
    Object.assign(new Error('x'), { denied: 'no' }),
    { denied: true },
    'gone',
    undefined,
  ])
    t.equal(isRefusal(thrown), false)
})
