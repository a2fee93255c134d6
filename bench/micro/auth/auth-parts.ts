import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createAuthorizer } from '../../../core/auth/authorizer.ts'
import { issueToken, nameKey } from '../../../core/auth/token/access-token.ts'
import { type Chain, type Plugin, runSteps } from '../../../core/chain.ts'
import type { AuthSource, Rule } from '../../../core/contracts/auth.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { compileChain } from '../../../core/plugin/compile-chain.ts'
import { toRoute } from '../../../core/route.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { BenchExchange, BROWSER_FIELDS } from '../bench-exchange.ts'
import { createBenchPlugin } from '../gateway-parts.ts'

const TOKENS = 1000
const TOKEN_MAX = 1000
const BODY = Buffer.from('{"message":"Hello John"}')
const ROUTE = toRoute('service7', 'Greeter.Hello')
const OPEN: Rule = {
  ...({ id: 'open', scope: '', access: 'GRANTED', priority: 0 } as const),
  resource: { type: '*', name: '*', endpoint: '*' },
}

export interface AuthBench {
  /** Runs an exchange through a chain with or without the `auth` plugin. */
  readonly createRun: (
    isAuthorized: boolean,
    takeField: (() => string) | undefined,
  ) => () => Maybe<void>
  /**
   * `Authorization` header of the next account, as received in a request: a slice that V8 has not flattened or hashed
   * yet.
   */
  readonly takeField: () => string
  readonly close: () => void
}

/** Creates a public rule after `count` rules for 1 000 services and scopes, and accounts with two of the scopes. */
export async function createAuthBench(count: number): Promise<AuthBench> {
  const { source, issue } = createBenchSource(count)
  const authorizer = createAuthorizer(source)
  const tokens = await issue(TOKENS)
  for (const token of tokens) await authorizer.identify(token)
  const resource = { type: 'service', name: ROUTE.service, endpoint: ROUTE.endpoint }
  await authorizer.decide({ namespace: 'mx', account: undefined, resource })
  const fields = tokens.map((token) => `Bearer ${token}`)
  const bytes = Buffer.from(fields.map((field) => field.padEnd(TOKEN_MAX)).join(''), 'latin1')
  const lengths = fields.map(({ length }) => length)
  const plugin = createBenchPlugin('auth', {}, authorizer)
  let next = 0

  return {
    createRun(isAuthorized, takeField) {
      const chain = createBenchChain(isAuthorized ? [plugin] : [])
      return () => runChain(chain, takeField?.())
    },

    takeField() {
      next = next + 1 === TOKENS ? 0 : next + 1
      const start = next * TOKEN_MAX
      return bytes.toString('latin1', start, start + lengths[next]!)
    },

    close() {
      void plugin.close?.()
      authorizer.close()
    },
  }
}

export interface BenchSource {
  readonly source: AuthSource
  readonly publicKey: KeyObject
  /** Issues tokens for `count` accounts. */
  readonly issue: (count: number) => Promise<readonly string[]>
}

/** Creates a source of rules and keys, with `count` rules before the public one. */
export function createBenchSource(count: number): BenchSource {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = { id: nameKey(publicKey), privateKey }
  const rules = Array.from({ length: count }, (_, i): Rule => {
    const resource = { type: 'service', name: `service${i % 1000}`, endpoint: 'Greeter.*' }
    const scope = `scope${Math.floor(i / 1000) * 100 + (i % 100)}`
    return { id: `rule${i}`, scope, access: 'GRANTED', priority: i % 3, resource }
  })
  const source: AuthSource = {
    watchRules: (_, signal) => watch([...rules, OPEN], signal),
    watchNamespaces: (signal) => watch(new Set<string>(), signal),
    watchTokens: (signal) =>
      watch({ keys: new Map([[key.id, publicKey]]), isRevoked: () => false }, signal),
  }
  const issue = (length: number): Promise<readonly string[]> =>
    Promise.all(
      Array.from({ length }, (_, i) => {
        const id = `account${i}`
        const scopes = [`scope${i % 1000}`, 'scope7']
        const account = { id, name: id, type: 'user', issuer: 'mx', scopes, metadata: {} } as const
        return issueToken(account, { key, id, nowMs: Date.now(), lifeS: 3600 })
      }),
    )
  return { publicKey, source, issue }
}

/** Creates a chain that routes to one endpoint and responds immediately. */
export function createBenchChain(plugins: readonly Plugin[]): Chain {
  const upstream = new Upstream(ROUTE.service, {
    createPool: () => {
      throw new Error('unexpected send')
    },
  })
  return compileChain(
    plugins,
    (x) => {
      x.route = ROUTE
      x.upstream = upstream
    },
    (x) => x.send(200, new HeaderList(['cache-control', 'no-store']), BODY),
  )
}

/** Sends a request through a chain. Returns a promise if the chain is asynchronous. */
export function runChain(chain: Chain, authorization: string | undefined): Maybe<void> {
  const fields =
    authorization === undefined
      ? BROWSER_FIELDS
      : [...BROWSER_FIELDS, 'authorization', authorization]
  const x = new BenchExchange(fields)
  x.begin(
    chain,
    () => {},
    (error) => {
      throw error
    },
  )
  return runSteps(chain.steps, x)
}

async function* watch<T>(value: T, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  yield value
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
