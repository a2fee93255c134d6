import { generateKeyPairSync } from 'node:crypto'
import { issueToken, nameKey } from '../../core/auth/access-token.ts'
import { createGate } from '../../core/auth/gate.ts'
import { compileChain, runSteps } from '../../core/chain.ts'
import type { AuthSource, Rule } from '../../core/contracts/auth.ts'
import { HeaderList } from '../../core/headers.ts'
import { toRoute } from '../../core/route.ts'
import { Upstream } from '../../core/upstream/upstream.ts'
import { BenchExchange, BROWSER_FIELDS } from './bench-exchange.ts'
import { createBenchPlugin } from './gateway-parts.ts'

const TOKENS = 1000
const TOKEN_MAX = 1000
const BODY = Buffer.from('{"message":"Hello John"}')
const ROUTE = toRoute('service7', 'Greeter.Hello')
const OPEN: Rule = {
  ...({ id: 'open', scope: '', access: 'GRANTED', priority: 0 } as const),
  resource: { type: '*', name: '*', endpoint: '*' },
}

export interface AuthBench {
  /** One exchange through a chain with the plugin `auth`, or without. */
  readonly createRun: (isJudged: boolean, takeField: (() => string) | undefined) => () => void
  /** `Authorization` of the next of many accounts, as it comes with requests: a text nobody has looked at yet. */
  readonly takeField: () => string
  readonly close: () => void
}

/** Rules that let everybody in, behind `count` for 1 000 services and scopes, and accounts that hold two of those scopes. */
export async function createAuthBench(count: number): Promise<AuthBench> {
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
  const gate = createGate(source)
  const tokens = await Promise.all(
    Array.from({ length: TOKENS }, (_, i) => {
      const id = `account${i}`
      const scopes = [`scope${i % 1000}`, 'scope7']
      const account = { id, name: id, type: 'user', issuer: 'mx', scopes, metadata: {} } as const
      return issueToken(account, { key, id, nowMs: Date.now(), lifeS: 3600 })
    }),
  )
  for (const token of tokens) await gate.identify(token)
  const resource = { type: 'service', name: ROUTE.service, endpoint: ROUTE.endpoint }
  await gate.judge({ namespace: 'mx', account: undefined, resource })
  const fields = tokens.map((token) => `Bearer ${token}`)
  const bytes = Buffer.from(fields.map((field) => field.padEnd(TOKEN_MAX)).join(''), 'latin1')
  const lengths = fields.map(({ length }) => length)
  const plugin = createBenchPlugin('auth', {}, gate)
  const upstream = new Upstream(ROUTE.service, {
    createPool: () => {
      throw new Error('nothing is sent')
    },
  })
  let next = 0

  return {
    createRun(isJudged, takeField) {
      const chain = compileChain(
        isJudged ? [plugin] : [],
        (x) => {
          x.route = ROUTE
          x.upstream = upstream
        },
        (x) => x.send(200, new HeaderList(['cache-control', 'no-store']), BODY),
      )
      return () => {
        const fields =
          takeField === undefined
            ? BROWSER_FIELDS
            : [...BROWSER_FIELDS, 'authorization', takeField()]
        const x = new BenchExchange(fields)
        x.begin(
          chain,
          () => {},
          (error) => {
            throw error
          },
        )
        void runSteps(chain.steps, x)
      }
    },

    takeField() {
      next = next + 1 === TOKENS ? 0 : next + 1
      const start = next * TOKEN_MAX
      return bytes.toString('latin1', start, start + lengths[next]!)
    },

    close() {
      void plugin.close?.()
      gate.close()
    },
  }
}

async function* watch<T>(value: T, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  yield value
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
