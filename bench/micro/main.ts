// Micro-benchmarks: `npm run bench micro`, or selected modules: `npm run bench micro -- guard chain`.
import { bench, group, run } from 'mitata'
import type { Micro } from './micro.ts'

const MICROS: Readonly<Record<string, () => Promise<{ readonly default: Micro }>>> = {
  'run-steps': () => import('./run-steps.ts'),
  'request-metrics': () => import('./http/request-metrics.ts'),
  'header-list': () => import('./http/header-list.ts'),
  guard: () => import('./guard.ts'),
  resolvers: () => import('./routing/resolvers.ts'),
  'endpoint-matcher': () => import('./routing/endpoint-matcher.ts'),
  'match-key': () => import('./routing/match-key.ts'),
  'route-cache': () => import('./routing/route-cache.ts'),
  router: () => import('./routing/router.ts'),
  balance: () => import('./routing/balance.ts'),
  'request-head': () => import('./http/request-head.ts'),
  'text-memo': () => import('./text-memo.ts'),
  'reply-head': () => import('./http/reply-head.ts'),
  'reply-head-out': () => import('./http/reply-head-out.ts'),
  'request-document': () => import('./http/request-document.ts'),
  plugins: () => import('./plugins.ts'),
  chain: () => import('./chain.ts'),
  'auth-decide': () => import('./auth/auth-decide.ts'),
  'auth-public': () => import('./auth/auth-public.ts'),
  'auth-bearer': () => import('./auth/auth-bearer.ts'),
  'auth-identify': () => import('./auth/auth-identify.ts'),
  'auth-verify': () => import('./auth/auth-verify.ts'),
  'call-table': () => import('./rpc/call-table.ts'),
  'rpc-frames': () => import('./rpc/rpc-frames.ts'),
  'proxied-call': () => import('./rpc/proxied-call.ts'),
  'pending-calls': () => import('./rpc/pending-calls.ts'),
  'service-call': () => import('./rpc/service-call.ts'),
  'endpoint-validation': () => import('./endpoint-validation.ts'),
  'in-process-call': () => import('./rpc/in-process-call.ts'),
  'registry-list': () => import('./routing/registry-list.ts'),
  quota: () => import('./quota.ts'),
  'rate-limit': () => import('./rate-limit.ts'),
  'store-commit': () => import('./store-commit.ts'),
}

/** Runs the named benchmarks, or all of them. Returns true if all budgets are met. */
async function main(names: readonly string[]): Promise<boolean> {
  for (const name of names) {
    if (!Object.hasOwn(MICROS, name))
      throw new RangeError(
        `name must be one of ${Object.keys(MICROS).join(', ')}, got ${JSON.stringify(name)}`,
      )
  }
  const budgets = new Map<string, number>()
  const closers: Micro['close'][] = []
  for (const name of names.length > 0 ? names : Object.keys(MICROS)) {
    const { benches, budgetNs = {}, close } = (await MICROS[name]!()).default
    closers.push(close)
    group(name, () => {
      for (const [title, call] of Object.entries(benches)) bench(`${name}: ${title}`, call)
    })
    for (const [title, limit] of Object.entries(budgetNs)) budgets.set(`${name}: ${title}`, limit)
  }
  const { benchmarks } = await run()
  for (const close of closers) await close?.()
  let passed = true
  for (const { alias, runs } of benchmarks) {
    const limit = budgets.get(alias)
    if (limit === undefined) continue
    // Uses the median, so that other load on the machine does not fail a budget.
    const medianNs = runs[0]?.stats?.p50 ?? Number.NaN
    const isWithinLimit = medianNs <= limit
    if (!isWithinLimit) passed = false
    process.stdout.write(
      `${isWithinLimit ? 'ok  ' : 'FAIL'} ${alias}: ${medianNs.toFixed(0)} ns, limit ${limit}\n`,
    )
  }
  return passed
}

main(process.argv.slice(2)).then(
  (passed) => {
    process.exitCode = passed ? 0 : 1
  },
  (error) => {
    process.stderr.write(`bench micro: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = error instanceof RangeError ? 2 : 1
  },
)
