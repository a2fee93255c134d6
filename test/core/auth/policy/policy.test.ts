import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Policy } from '../../../../core/auth/policy/policy.ts'
import type { Account, Resource, Rule } from '../../../../core/contracts/auth.ts'
import { decideByReference } from '../../../fixtures/naive-rules.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

/** Parses `id scope access resource priority`; the `<public>` scope includes anonymous callers. */
function toRule(line: string): Rule {
  const [id, scope, access, resource, priority] = line.split(' ')
  const [type, name, endpoint] = resource!.split(':')
  return {
    id: id!,
    scope: scope === '<public>' ? '' : scope!,
    access: access as Rule['access'],
    resource: { type: type!, name: name!, endpoint: endpoint! },
    priority: Number(priority),
  }
}

function toAccount(scopes: readonly string[], issuer = 'mx'): Account {
  return { id: 'jane', name: 'jane', type: 'user', issuer, scopes, metadata: {} }
}

function authorize(
  t: Test,
  policy: Policy,
  account: Account | undefined,
  resource: Resource,
): string {
  const { type, name, endpoint } = resource
  const decision = policy.caller(account).access(type, name, endpoint)
  if (type === 'service')
    t.same(
      policy.caller(account).call(name, endpoint),
      decision,
      'call() and access() agree on a service',
    )
  const access = decision.rule?.access ?? 'DENIED'
  t.equal(decision.granted, access === 'GRANTED')
  return decision.rule === undefined ? 'denied: no rule' : `${access} by ${decision.rule.id}`
}

const DEFAULT = 'default <public> GRANTED *:*:* 0'
const LOGIN = 'login <public> GRANTED service:auth:* 0'
const LOGGED_IN = 'onlyloggedin * GRANTED *:*:* 0'

const RULE_SETS: readonly (readonly string[])[] = [
  [],
  [DEFAULT],
  [LOGGED_IN, LOGIN],
  [DEFAULT, 'closed <public> DENIED service:store:* 0'],
  [DEFAULT, 'closed <public> DENIED service:store:* -1'],
  [DEFAULT, 'closed * DENIED service:store:* 1', 'open admin GRANTED service:store:* 2'],
  ['a staff GRANTED service:store:Store.Read 0', 'b staff DENIED service:store:Store.* 0'],
  ['a staff GRANTED service:store:Store.Read 1', 'b staff DENIED service:store:Store.* 0'],
  ['a <public> GRANTED service:site:/docs/* 0', 'b staff GRANTED service:site:/docs/inner/* 0'],
  ['a <public> GRANTED service:site:/* 0', 'b <public> DENIED service:site:/docs/inner/* 0'],
  ['a + GRANTED *:*:* 0', 'b <public> GRANTED service:auth:Auth.Token 0'],
  ['a + DENIED service:store:* 5', DEFAULT],
  ['B <public> DENIED SERVICE:STORE:STORE.READ 0', DEFAULT],
  ['a <public> GRANTED namespace:*:* 0'],
  ['z admin GRANTED *:*:* 0', 'y staff DENIED *:store:* 0', 'x * GRANTED *:*:/docs/* 3'],
]

const CALLERS: Readonly<Record<string, Account | undefined>> = {
  'an anonymous caller': undefined,
  'an account without scopes': toAccount([]),
  'an account with scope admin': toAccount(['admin']),
  'an account with scopes staff and admin': toAccount(['staff', 'admin']),
  'an account of another namespace with scope admin': toAccount(['admin', 'staff'], 'acme'),
  'an account with the scope *': toAccount(['*'], 'acme'),
}

const RESOURCES: readonly Resource[] = [
  'service:store:Store.Read',
  'service:Store:store.read',
  'service:store:Blob.Read',
  'service:auth:Auth.Token',
  'service:site:/docs/inner/page',
  'service:site:/docs',
  'service:site:/docs/x',
  'namespace:mx:*',
].map((text) => toRule(`x x GRANTED ${text} 0`).resource)

t.test(
  'a policy decides like a naive implementation for a table of rules, callers and resources',
  async (t) => {
    let cases = 0
    for (const lines of RULE_SETS) {
      const rules = lines.map(toRule)
      const policy = new Policy('mx', rules)
      for (const [caller, account] of Object.entries(CALLERS))
        for (const resource of RESOURCES) {
          const { type, name, endpoint } = resource
          const expected = decideByReference('mx', rules, account, resource)
          const title = `${lines.join(', ') || 'no rules'}: ${caller}, ${type}:${name}:${endpoint}`
          const decision = authorize(t, policy, account, resource)
          t.equal(decision, expected, title)
          if (account !== undefined && !decision.startsWith('GRANTED')) {
            const isGrantedWith = (scope: string) =>
              decideByReference(
                'mx',
                rules,
                { ...account, scopes: [...account.scopes, scope] },
                resource,
              ).startsWith('GRANTED')
            const sufficientScopes = ['admin', 'staff'].filter(isGrantedWith)
            const missing = policy.findMissingScope(account, resource)
            const isExpected =
              missing === undefined
                ? sufficientScopes.length === 0
                : sufficientScopes.includes(missing)
            t.ok(isExpected, `${title}: missing scope ${missing} of ${sufficientScopes}`)
          }
          cases++
        }
    }
    t.ok(cases >= 200, `${cases} cases`)
  },
)

t.test('the example rules of the specification grant and deny as documented', async (t) => {
  const store: Resource = { type: 'service', name: 'store', endpoint: 'Store.Read' }
  const token: Resource = { type: 'service', name: 'auth', endpoint: 'Auth.Token' }
  const listRules = (...lines: string[]) => new Policy('mx', lines.map(toRule))
  const jane = toAccount([])

  const fresh = listRules(DEFAULT)
  t.equal(
    authorize(t, fresh, undefined, store),
    'GRANTED by default',
    'anonymous callers may call every service',
  )

  const replaced = listRules(LOGGED_IN)
  t.equal(authorize(t, replaced, undefined, store), 'denied: no rule', 'a token is required')
  t.equal(authorize(t, replaced, jane, store), 'GRANTED by onlyloggedin')
  t.equal(authorize(t, replaced, undefined, token), 'denied: no rule', 'a login is also denied')

  const withLogin = listRules(LOGGED_IN, LOGIN)
  t.equal(authorize(t, withLogin, undefined, token), 'GRANTED by login')
  t.equal(authorize(t, withLogin, undefined, store), 'denied: no rule')

  t.equal(authorize(t, listRules(), jane, store), 'denied: no rule', 'no rule applies: denied')
  t.equal(
    authorize(t, listRules('b * GRANTED *:*:* 0', 'a * GRANTED *:*:* 0'), jane, store),
    'GRANTED by a',
    'rules of equal priority and access are ordered by id',
  )
})

const PARTS = ['*', 'a', 'b', 'A'] as const
const ENDPOINTS = ['*', 'H.M', 'h.n', 'H.*', '/*', '/a', '/a/*', '/a/', '/a/b', '/A/b/c'] as const
const SCOPES = ['', '*', '+', 'admin', 'staff'] as const

const resource = fc.record({
  type: fc.constantFrom('*', 'service', 'namespace', 'Service'),
  name: fc.constantFrom(...PARTS),
  endpoint: fc.constantFrom(...ENDPOINTS),
})
const rules = fc.uniqueArray(
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 2 }),
    scope: fc.constantFrom(...SCOPES),
    access: fc.constantFrom('GRANTED', 'DENIED'),
    resource,
    priority: fc.integer({ min: -1, max: 1 }),
  }),
  { maxLength: 12, selector: ({ id }) => id },
)
const account = fc.option(
  fc.record({
    id: fc.constant('jane'),
    name: fc.constant('jane'),
    type: fc.constantFrom('user', 'service'),
    issuer: fc.constantFrom('mx', 'acme'),
    scopes: fc.array(fc.constantFrom(...SCOPES), { maxLength: 3 }),
    metadata: fc.constant({}),
  }),
  { nil: undefined },
)

t.test('a policy decides like a naive implementation for random rules and calls', async () => {
  const called = resource.filter(({ name, endpoint }) => name !== '*' && !endpoint.endsWith('*'))
  fc.assert(
    fc.property(rules, fc.array(fc.tuple(account, called), { maxLength: 8 }), (rules, calls) => {
      const policy = new Policy('mx', rules as readonly Rule[])
      return calls.every(([account, resource]) => {
        const { type, name, endpoint } = resource
        const decision = policy.caller(account as Account | undefined).access(type, name, endpoint)
        const access = decision.granted ? 'GRANTED' : 'DENIED'
        const output =
          decision.rule === undefined ? 'denied: no rule' : `${access} by ${decision.rule.id}`
        return (
          output === decideByReference('mx', rules as readonly Rule[], account as never, resource)
        )
      })
    }),
    { numRuns: scaleRuns(3000) },
  )
})

t.test('the order in which rules are added does not change the decision', async () => {
  fc.assert(
    fc.property(rules, account, resource, (rules, account, { type, name, endpoint }) => {
      const sendRequest = (rules: readonly unknown[]) =>
        new Policy('mx', rules as readonly Rule[])
          .caller(account as Account | undefined)
          .access(type, name, endpoint).rule?.id
      return sendRequest(rules) === sendRequest([...rules].reverse())
    }),
  )
})

t.test(
  'decisions stay correct for 25,000 callers and services, more than are cached',
  async (t) => {
    const policy = new Policy('mx', [toRule('a s7 GRANTED service:store:* 0')])
    let granted = 0
    for (let i = 0; i < 25_000; i++)
      if (policy.caller(toAccount([`s${i}`])).call('store', 'Store.Read').granted) granted++
    t.equal(granted, 1)
    const caller = policy.caller(toAccount(['s7']))
    for (let i = 0; i < 25_000; i++) if (caller.call(`service${i}`, 'X.Y').granted) granted++
    t.equal(granted, 1)
    t.ok(caller.call('store', 'Store.Read').granted)
  },
)
