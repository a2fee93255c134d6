// Compares the authorizer and the account checks with a naive model, for operators, workloads and tenants.
import { randomInt } from 'node:crypto'
import t from 'tap'
import { createAuthorizer } from '../../../../../core/auth/authorizer.ts'
import { decide } from '../../../../../core/auth/policy/decision.ts'
import type {
  Account,
  Authorizer,
  AuthSource,
  Resource,
  Rule,
} from '../../../../../core/contracts/auth.ts'
import * as checks from '../../../../../sdk/auth/account-checks.ts'
import { type Context, createContext } from '../../../../../sdk/context.ts'
import { createAdmitLogin } from '../../../../../services/auth/accounts/admit-login.ts'
import { mustBeReader } from '../../../../../services/config/tree/readers.ts'
import { decideByReference } from '../../../../fixtures/naive-rules.ts'
import { scaleRuns } from '../../../../fixtures/property-runs.ts'

const CASES = scaleRuns(100_000)
/** Calls with one pair of rule sets, of `mx` and of a tenant. */
const CALLS = 2
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))

/** Mulberry32: the same cases for the same seed. */
function createRandom(seed: number) {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number): number => Math.floor(next() * n)
  return { below, pick: <T>(from: readonly T[]): T => from[below(from.length)]! }
}

const { below, pick } = createRandom(SEED)

const NAMESPACES = ['mx', 'acme']
const SCOPES = ['', '*', '+', 'admin', 'service', 'staff', 'workload:mx/shop', 'workload:acme/shop']
const TYPES = ['*', 'service', 'service', 'topic']
const NAMES = ['*', '*', 'auth', 'AUTH', 'shop', 'store']
const PATTERNS = [
  ...['*', '*', 'Auth.*', 'Auth.Token', 'auth.token', 'Rules.*', 'Rules.Delete', 'RULES.CREATE'],
  ...['Accounts.*', 'Accounts.List', 'Shop.*', 'Shop.Call', '/docs/*'],
]
const ENDPOINTS = [
  ...['Auth.Token', 'AUTH.token', 'Auth.Generate', 'Auth.Revoke', 'Auth.Tokens', 'Rules.Create'],
  ...['rules.delete', 'Rules.List', 'Accounts.List', 'Accounts.Delete', 'Shop.Call', '/docs/a'],
]
const REPAIRS = ['auth.token', 'rules.create', 'rules.delete', 'rules.list']
const ACCOUNT_REPAIRS = ['accounts.list', 'accounts.delete']

function toRules(): readonly Rule[] {
  return Array.from({ length: below(6) }, (_, i) => ({
    id: `r${i}`,
    scope: pick(SCOPES),
    access: pick(['GRANTED', 'DENIED', 'DENIED'] as const),
    resource: { type: pick(TYPES), name: pick(NAMES), endpoint: pick(PATTERNS) },
    priority: pick([-1, 0, 0, 1, 1_000_000_000]),
  }))
}

function toAccount(): Account | undefined {
  if (below(8) === 0) return undefined
  const issuer = pick(NAMESPACES)
  const scopes = Array.from({ length: below(3) }, () =>
    pick(['admin', 'service', 'staff', `workload:${issuer}/${pick(['shop', 'shop.eu', 'pay'])}`]),
  )
  // Rules cannot lock operators out of `auth`.
  if (below(4) === 0) scopes.push('admin')
  const type = pick(['user', 'service'] as const)
  return { id: `a${below(3)}`, name: 'a', type, issuer, scopes, metadata: {} }
}

/** Publishes rule sets to an authorizer, as `auth` does. */
class FuzzSource implements AuthSource {
  readonly #wake = new Map<string, () => void>()
  readonly rules = new Map<string, readonly Rule[]>(NAMESPACES.map((name) => [name, []]))

  set(namespace: string, rules: readonly Rule[]): void {
    this.rules.set(namespace, rules)
    this.#wake.get(namespace)?.()
  }

  async *watchRules(namespace: string, signal: AbortSignal): AsyncGenerator<readonly Rule[]> {
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => this.#wake.set(namespace, resolve))
      yield this.rules.get(namespace)!
      await changed
    }
  }

  async *watchNamespaces(signal: AbortSignal): AsyncGenerator<ReadonlySet<string>> {
    yield new Set(NAMESPACES)
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }

  async *watchTokens(): AsyncGenerator<never> {}
}

const isModelOperator = (account: Account | undefined): boolean =>
  account?.issuer === 'mx' && account.scopes.includes('admin')

/** Documented decision for a call: `granted`, `denied` or `404`. */
function decideByModel(
  rules: ReadonlyMap<string, readonly Rule[]>,
  account: Account | undefined,
  call: { readonly namespace: string; readonly domain: string; readonly resource: Resource },
): string {
  const { domain, resource } = call
  const endpoint = resource.endpoint.toLowerCase()
  if (domain === 'mx' && resource.name === 'auth') {
    if (endpoint === 'auth.token') return 'granted'
    const repairs = [...REPAIRS, ...ACCOUNT_REPAIRS]
    if (isModelOperator(account) && repairs.includes(endpoint)) return 'granted'
  }
  return decideRulesByModel(rules, account, call)
}

function decideRulesByModel(
  rules: ReadonlyMap<string, readonly Rule[]>,
  account: Account | undefined,
  { namespace, domain, resource }: { namespace: string; domain: string; resource: Resource },
): string {
  const ruleNamespace = namespace === '' ? domain : namespace
  if (ruleNamespace !== domain && domain !== 'mx') return '404'
  const ruleDomains = ruleNamespace === domain ? [domain] : [ruleNamespace, 'mx']
  const isGranted = ruleDomains.every((name) =>
    decideByReference(name, rules.get(name)!, account, resource).startsWith('GRANTED'),
  )
  return isGranted ? 'granted' : 'denied'
}

async function decideByCode(authorizer: Authorizer, account: Account | undefined, target: object) {
  try {
    const ruling = await decide(authorizer, account, target as Parameters<typeof decide>[2])
    return ruling.granted ? 'granted' : 'denied'
  } catch (error) {
    return String((error as { code: number }).code)
  }
}

// Stack traces of expected errors would take most of the time.
Error.stackTraceLimit = 0
t.setTimeout(120_000)

t.test(`${CASES} calls with random rules match the decisions of the model`, async (t) => {
  t.comment(`FUZZ_SEED=${SEED}`)
  const source = new FuzzSource()
  const authorizer = createAuthorizer(source)
  t.teardown(authorizer.close)
  const admitLogin = createAdmitLogin(authorizer)
  const resource = { type: 'service', name: 'any', endpoint: 'Any.Any' }
  for (const namespace of NAMESPACES)
    await authorizer.decide({ namespace, account: undefined, resource })
  const differences: unknown[] = []
  const counts = { granted: 0, denied: 0, '404': 0, repairs: 0, logins: 0 }
  for (let i = 0; i < CASES && differences.length < 10; i++) {
    if (i % CALLS === 0) {
      for (const namespace of NAMESPACES) source.set(namespace, toRules())
      await new Promise(setImmediate)
    }
    const account = toAccount()
    const endpoint = pick(ENDPOINTS)
    const target = {
      namespace: pick(['', 'mx', 'acme']),
      domain: pick(['mx', 'mx', 'mx', 'acme']),
      resource: { type: 'service', name: pick(['auth', 'auth', 'shop']), endpoint },
    }
    const expected = decideByModel(source.rules, account, target)
    const decision = await decideByCode(authorizer, account, target)
    counts[expected as 'granted']++
    const details = { i, account, target, rules: [...source.rules] }
    if (decision !== expected) differences.push({ ...details, found: decision, expected })

    const isRepair = /^(?:auth\.token|rules\.\w+|accounts\.\w+)$/i.test(endpoint)
    const isAuthService = target.resource.name === 'auth' && target.domain === 'mx'
    if (isModelOperator(account) && isRepair && isAuthService) {
      counts.repairs++
      if (decision !== 'granted')
        differences.push({ ...details, found: decision, expected: 'no lock-out' })
    }
    if (i % 3 !== 0 || account === undefined || target.domain !== 'mx') continue
    // The caller is anonymous until its credentials are verified.
    counts.logins++
    const ctx = createContext({
      metadata: target.namespace === '' ? {} : { 'mx-namespace': target.namespace },
    })
    const login = await admitLogin(ctx, async (mustBeAllowed) => mustBeAllowed(account)).then(
      () => 'granted',
      ({ code }) => (code === 401 ? 'denied' : code),
    )
    const token = { ...target, resource: { ...resource, name: 'auth', endpoint: 'Auth.Token' } }
    const admitted = isModelOperator(account)
      ? 'granted'
      : decideRulesByModel(source.rules, undefined, token)
    if (login !== admitted) differences.push({ ...details, login, admitted })
  }
  t.same(differences, [])
  for (const [name, count] of Object.entries(counts)) t.ok(count > 1000, `${name}: ${count}`)
})

/** Documented decision on whether an account may access a resource of a service in a namespace. */
function isAllowedByModel(
  account: Account,
  namespace: string,
  name: string,
  service: string,
): boolean {
  const { issuer, scopes } = account
  if (scopes.includes('admin') && ['mx', namespace].includes(issuer)) {
    return name !== 'operate' || issuer === 'mx'
  }
  if (issuer !== namespace || name === 'administer' || name === 'operate') return false
  const workloads = scopes.filter((scope) => scope.startsWith('workload:'))
  if (name === 'view') return workloads.length === 0 || scopes.includes('service')
  if (scopes.includes('service')) return true
  if (name === 'share') return workloads.length > 0
  const names = workloads.map((scope) => scope.split('/')[1]!)
  if (name === 'use') return names.includes(service)
  return names.some((name) => `${service}.key`.startsWith(`${name}.`))
}

t.test(`none of ${CASES} accounts acts beyond the namespace and the service of its scopes`, (t) => {
  t.comment(`FUZZ_SEED=${SEED}`)
  const all = checks.createAccountChecks({} as Authorizer)
  const sendRequest: Readonly<Record<string, (ctx: Context, ns: string, service: string) => void>> =
    {
      operate: (ctx) => checks.mustBeOperator(ctx, 'x'),
      administer: (ctx, ns) => void checks.mustBeAdmin(ctx, ns, 'x'),
      view: (ctx, ns) => void checks.mustBeViewer(ctx, ns, 'x'),
      share: (ctx, ns) => void checks.mustBeService(ctx, ns, 'x'),
      use: (ctx, ns, service) => void checks.mustBeService(ctx, ns, 'x', service),
      read: (ctx, ns, service) =>
        mustBeReader(all, ctx, { namespace: ns, path: `${service}.key`, id: 'x' }),
    }
  const differences: unknown[] = []
  const counts = { allowed: 0, denied: 0 }
  for (let i = 0; i < CASES && differences.length < 10; i++) {
    const account = toAccount()
    if (account === undefined) continue
    const ctx = { account } as unknown as Context
    const [namespace, name] = [pick(NAMESPACES), pick(Object.keys(sendRequest))]
    const service = pick(['shop', 'shop.eu', 'pay', 'shopping', 'eu'])
    let isAllowed = true
    try {
      sendRequest[name]!(ctx, namespace, service)
    } catch {
      isAllowed = false
    }
    counts[isAllowed ? 'allowed' : 'denied']++
    const expected = isAllowedByModel(account, namespace, name, service)
    if (isAllowed !== expected)
      differences.push({ account, namespace, name, service, found: isAllowed, expected })
  }
  t.same(differences, [])
  for (const [name, count] of Object.entries(counts)) t.ok(count > 1000, `${name}: ${count}`)
  t.end()
})
