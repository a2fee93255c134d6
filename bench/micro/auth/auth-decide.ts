import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import type { Access, Account, AuthSource, Rule } from '../../../core/contracts/auth.ts'
import type { Micro } from '../micro.ts'

const resource = { type: 'service', name: 'service7', endpoint: 'Greeter.Hello' }
const jane: Account = {
  ...({ id: 'jane', name: 'jane', type: 'user', issuer: 'mx' } as const),
  scopes: ['scope1', 'scope7'],
  metadata: {},
}
const open: Rule = {
  ...({ id: 'open', scope: '', access: 'GRANTED', priority: 0 } as const),
  resource: { type: '*', name: '*', endpoint: '*' },
}

/** Rules for a handler of each of 1 000 services and 10 of 1 000 scopes. */
const many = Array.from({ length: 10_000 }, (_, i): Rule => {
  const resource = { type: 'service', name: `service${i % 1000}`, endpoint: 'Greeter.*' }
  const scope = `scope${Math.floor(i / 1000) * 100 + (i % 100)}`
  return { id: `rule${i}`, scope, access: 'GRANTED', priority: i % 3, resource }
})

async function* watch<T>(value: T, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  yield value
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

async function createAuthorize(rules: readonly Rule[], account: Account | undefined) {
  const source: AuthSource = {
    watchRules: (_, signal) => watch(rules, signal),
    watchNamespaces: (signal) => watch(new Set<string>(), signal),
    watchTokens: (signal) => watch({ keys: new Map(), isRevoked: () => false }, signal),
  }
  const authorizer = createAuthorizer(source)
  const access: Access = { namespace: 'mx', account, resource }
  await authorizer.decide(access)
  return { authorizer, decide: () => authorizer.decide(access) }
}

const anonymous = await createAuthorize([open], undefined)
const identified = await createAuthorize([open], jane)
const anonymousWithManyRules = await createAuthorize([...many, open], undefined)
const identifiedWithManyRules = await createAuthorize([...many, open], jane)

const micro: Micro = {
  benches: {
    'public rule, anonymous': anonymous.decide,
    'public rule, account': identified.decide,
    '10 000 rules, 1 000 scopes, anonymous': anonymousWithManyRules.decide,
    '10 000 rules, 1 000 scopes, account': identifiedWithManyRules.decide,
  },
  budgetNs: {
    'public rule, anonymous': 100,
    'public rule, account': 100,
    '10 000 rules, 1 000 scopes, anonymous': 100,
  },
  close() {
    for (const { authorizer } of [
      anonymous,
      identified,
      anonymousWithManyRules,
      identifiedWithManyRules,
    ])
      authorizer.close()
  },
}

export default micro
