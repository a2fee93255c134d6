import t from 'tap'
import { createAuthorizer } from '../../../../core/auth/authorizer.ts'
import { decide, invalidToken, toAccessDenied } from '../../../../core/auth/policy/decision.ts'
import type { Account } from '../../../../core/contracts/auth.ts'
import { createAccount, createRule, MemoryAuthSource } from '../../../fixtures/auth-source.ts'

const resource = { type: 'service', name: 'helloworld', endpoint: 'Helloworld.Call' }

t.test(
  'the rules of mx or of the namespace of the service decide, by namespace and domain of the call',
  async (t) => {
    const source = new MemoryAuthSource()
    const authorizer = createAuthorizer(source)
    t.teardown(authorizer.close)
    const authorize = async (namespace: string, domain = 'mx', account?: Account) =>
      (await decide(authorizer, account, { namespace, domain, resource })).granted
    source.setRules('mx', createRule({ id: 'members', scope: '*' }))
    t.equal(await authorize(''), false)
    t.equal(await authorize('mx'), false)
    t.equal(await authorize('acme'), false, 'another namespace does not bypass the rules of mx')
    t.equal(await authorize('acme', 'acme'), true, 'a service of acme follows the rules of acme')
    t.equal(await authorize('', 'acme'), true, 'including calls without a namespace')
    for (const other of ['mx', 'other'])
      await t.rejects(authorize(other, 'acme'), {
        code: 404,
        message: 'service not found: helloworld',
      })
    t.equal(await authorize('', 'mx', createAccount()), true)
    t.equal(await authorize('acme', 'mx', createAccount()), true)
    t.equal(await authorize('acme', 'mx', createAccount({ issuer: 'acme' })), false)
    source.setRules('acme', createRule({ id: 'deny-all', access: 'DENIED' }))
    await new Promise(setImmediate)
    t.equal(await authorize('acme', 'mx', createAccount()), false)
    t.equal(await authorize('acme', 'acme', createAccount()), false)
    t.throws(() => decide(authorizer, undefined, { namespace: 'a b', domain: 'mx', resource }), {
      code: 400,
      message:
        'Mx-Namespace must be letters, digits and inner dots, dashes or underscores; mx in lower case only, got "a b"',
    })
  },
)

t.test('the error of a denied call names service, endpoint and challenge', (t) => {
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
  t.same(unquotable.headers, denied.headers, 'a scope that the header cannot contain is omitted')
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
