import t from 'tap'
import { admitCall } from '../../../core/auth/admit-call.ts'
import { createGate } from '../../../core/auth/gate.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../fixtures/auth-source.ts'

const HELLO = { type: 'service', name: 'greeter', endpoint: 'A.B' }
const LOGIN = { type: 'service', name: 'auth', endpoint: 'Auth.Token' }

t.test('a stale token keeps nobody from logging in, but from all else', async (t) => {
  const source = new MemoryAuthSource()
  const gate = createGate(source)
  t.teardown(gate.close)
  const stale = await source.issue(createAccount(), { nowMs: Date.now() - 3_600_000 })
  const metadata = `authorization: Bearer ${stale}\r\n`
  const admit = async (resource: typeof HELLO) =>
    admitCall(gate, { metadata, domain: 'mx', resource })
  await t.rejects(admit(HELLO), { code: 401, id: 'greeter' })
  await t.rejects(admit({ ...LOGIN, endpoint: 'Auth.Generate' }), { code: 401 })
  t.equal(await admit(LOGIN), undefined)
  source.setRules('mx', createRule({ id: 'members', scope: '*' }))
  await new Promise(setImmediate)
  await t.rejects(admit(LOGIN), { code: 401 }, 'but rules do')
})

t.test('other schemes than Bearer are the affair of whoever is called', async (t) => {
  const source = new MemoryAuthSource()
  const gate = createGate(source)
  t.teardown(gate.close)
  const metadata = 'authorization: Basic YTpi\r\n'
  t.equal(await admitCall(gate, { metadata, domain: 'mx', resource: HELLO }), undefined)
})
