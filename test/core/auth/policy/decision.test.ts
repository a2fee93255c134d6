import t from 'tap'
import { createAuthorizer } from '../../../../core/auth/authorizer.ts'
import { decide, invalidToken, toAccessDenied } from '../../../../core/auth/policy/decision.ts'
import type { Account } from '../../../../core/contracts/auth.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../../fixtures/auth-source.ts'

const resource = { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' }

t.test('whose rules decide', async (t) => {
  const source = new MemoryAuthSource()
  const gate = createAuthorizer(source)
  t.teardown(gate.close)
  const judge = async (namespace: string, domain = 'mx', account?: Account) =>
    (await decide(gate, account, { namespace, domain, resource })).granted
  source.setRules('mx', createRule({ id: 'members', scope: '*' }))
  t.equal(await judge(''), false)
  t.equal(await judge('mx'), false)
  t.equal(await judge('acme'), false, 'another namespace is no way round')
  t.equal(await judge('acme', 'acme'), true, 'what belongs to it is its own affair')
  t.equal(await judge('', 'acme'), true, 'and so are calls that name none')
  for (const other of ['mx', 'other'])
    await t.rejects(judge(other, 'acme'), { code: 404, message: 'service not found: helloworld' })
  t.equal(await judge('', 'mx', createAccount()), true)
  t.equal(await judge('acme', 'mx', createAccount()), true)
  t.equal(await judge('acme', 'mx', createAccount({ issuer: 'acme' })), false)
  source.setRules('acme', createRule({ id: 'nobody', access: 'DENIED' }))
  await new Promise(setImmediate)
  t.equal(await judge('acme', 'mx', createAccount()), false)
  t.equal(await judge('acme', 'acme', createAccount()), false)
  t.throws(() => decide(gate, undefined, { namespace: 'a b', domain: 'mx', resource }), {
    code: 400,
    message:
      'Mx-Namespace must be letters, digits and inner dots, dashes or underscores; mx in lower case only, got "a b"',
  })
})

t.test('a denied call is told what was called', (t) => {
  t.same(toAccessDenied(resource, undefined).toBody(), {
    Id: 'helloworld',
    Code: 401,
    Detail: 'Unauthorized call made to helloworld:Helloworld.Call',
    Status: 'Unauthorized',
  })
  t.same(toAccessDenied(resource, undefined).headers, ['www-authenticate', 'Bearer'])
  const denied = toAccessDenied(resource, createAccount())
  t.same(denied.headers, ['www-authenticate', 'Bearer error="insufficient_scope"'])
  const unquotable = toAccessDenied(resource, createAccount(), 'a" b')
  t.same(unquotable.headers, denied.headers, 'a scope that the header cannot hold is left out')
  t.equal(
    invalidToken('helloworld', resource).message,
    'Unauthorized call made to helloworld:Helloworld.Call: invalid or expired access token; log in again',
  )
  t.match(invalidToken('helloworld').toBody(), {
    Id: 'helloworld',
    Code: 401,
    Status: 'Unauthorized',
  })
  t.end()
})
