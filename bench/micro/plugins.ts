import { runSteps } from '../../core/chain.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { plugins } from '../../plugins/index.gen.ts'
import { BenchExchange, BROWSER_FIELDS } from './bench-exchange.ts'
import { createBenchPlugin } from './gateway-parts.ts'
import type { Micro } from './micro.ts'

/** Options for plugins that are invalid or idle without them. */
const OPTIONS: Readonly<Record<string, object>> = {
  'access-log': { path: '/dev/null' },
  cors: { origins: ['https://app.example.com'] },
  origins: { allow: ['https://app.example.com'] },
  headers: { request: { set: { 'x-edge': 'a' } }, reply: { set: { 'x-served-by': 'mx' } } },
  'ip-allow': { allow: ['loopback'] },
  'rate-limit': { rules: [{ name: 'all', limit: 1_000_000_000 }] },
  json: { request: { remove: ['a'] }, reply: { remove: ['a'] } },
}
/** Plugins that require a token or other setup, measured by `auth-public` and `auth-bearer`. */
const EXCLUDED: ReadonlySet<string> = new Set([
  'auth',
  'oidc',
  'api-keys',
  'basic-auth',
  'forward-auth',
])
const BODY = Buffer.from('{"message":"Hello John"}')
const ORIGIN = ['origin', 'https://app.example.com', ...BROWSER_FIELDS]

/** Runs an exchange through all plugin hooks. */
function createRun(names: readonly string[]): () => void {
  const built = names.map((name) => createBenchPlugin(name, OPTIONS[name] ?? {}))
  const chain = compileChain(
    built,
    () => {},
    (x) => x.send(200, new HeaderList(), BODY),
  )
  return () => {
    const x = new BenchExchange(ORIGIN)
    x.begin(
      chain,
      () => {},
      (error) => {
        throw error
      },
    )
    void runSteps(chain.steps, x)
  }
}

const micro: Micro = {
  benches: {
    'no plugin': createRun([]),
    ...Object.fromEntries(
      Object.keys(plugins)
        .filter((name) => !EXCLUDED.has(name))
        .map((name) => [name, createRun([name])]),
    ),
  },
}

export default micro
