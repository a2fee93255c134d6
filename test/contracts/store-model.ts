import fc from 'fast-check'
import type { Test } from 'tap'
import type { StoreAdapter } from '../../core/contracts/store.ts'
import { GatewayError } from '../../core/errors.ts'
import type { StoreQuery } from '../../domain/store/page.ts'
import { createStore, type StoreWrite } from '../../domain/store/store.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'

const TABLES = ['one', 'two'].map((table) => ({ database: 'mx', table }))

interface Known {
  readonly key: string
  readonly value: string
  readonly expiresMs: number
  readonly version: number
}

interface Change {
  readonly table: number
  readonly key: string
  readonly value: string | undefined
  readonly ttlMs: number
  readonly condition: 'none' | 'absent' | 'right' | 'wrong'
}

type Step =
  | { readonly do: 'commit'; readonly changes: readonly Change[] }
  | { readonly do: 'list'; readonly table: number; readonly query: StoreQuery }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'purge' }

const key = fc.string({
  unit: fc.constantFrom('a', 'b', '\u0001', '~', '\ue000', '\u{1f600}'),
  minLength: 1,
  maxLength: 3,
})
const part = fc.oneof(key, fc.constant(''))
const change: fc.Arbitrary<Change> = fc.record({
  table: fc.nat(1),
  key,
  value: fc.option(fc.string(), { nil: undefined }),
  ttlMs: fc.constantFrom(0, 0, 1, 3, 10),
  condition: fc.constantFrom(
    'none' as const,
    'none' as const,
    'absent' as const,
    'right' as const,
    'wrong' as const,
  ),
})
const query = fc.record(
  {
    prefix: part,
    suffix: part,
    from: part,
    to: part,
    after: part,
    reverse: fc.boolean(),
    offset: fc.nat(3),
    limit: fc.nat(4),
  },
  { requiredKeys: [] },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      changes: fc.uniqueArray(change, {
        minLength: 1,
        maxLength: 4,
        selector: ({ table, key }) => `${table} ${key}`,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('list' as const), table: fc.nat(1), query }),
  },
  fc.record({ do: fc.constant('wait' as const), ms: fc.nat(4) }),
  fc.record({ do: fc.constant('purge' as const) }),
)

/** After any operations in any order, a store has the same records as a simple list. */
export function testStoreModel(
  t: Test,
  create: () => Maybe<StoreAdapter>,
  numRuns: number = scaleRuns(100),
): void {
  t.test('contract: contains the same records as a plain list', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const clock = { ms: 1000 }
        const adapter = await create()
        const store = createStore(adapter, { nowMs: () => clock.ms, purgeMs: 2 ** 30 })
        const known: Map<string, Known>[] = [new Map(), new Map()]
        const find = (table: number, key: string): Known | undefined => {
          const result = known[table]!.get(key)
          return result !== undefined && exists(result, clock.ms) ? result : undefined
        }
        try {
          for (const step of steps) {
            if (step.do === 'wait') clock.ms += step.ms
            else if (step.do === 'purge') await adapter.purge?.(clock.ms, 10)
            else if (step.do === 'list') {
              const all = [...known[step.table]!.values()].filter((record) =>
                exists(record, clock.ms),
              )
              const page = await store.list(TABLES[step.table]!, step.query)
              checkPage(toPage(all, step.query), page, step.query)
            } else {
              const writes = step.changes.map((change) => toWrite(change, find, clock.ms))
              const fails = writes.some(
                ({ ifVersion }, i) =>
                  ifVersion !== undefined &&
                  ifVersion !== (find(step.changes[i]!.table, writes[i]!.key)?.version ?? 0),
              )
              const versions = await store.commit(writes).catch((error: unknown) => {
                if (error instanceof GatewayError && error.code === 409) return undefined
                throw error
              })
              if ((versions === undefined) !== fails) throw new Error(`conflict: ${!fails}`)
              if (versions === undefined) continue
              for (const [i, { table, key, value }] of step.changes.entries()) {
                const { expiresMs = 0 } = writes[i]!
                if (value === undefined) known[table]!.delete(key)
                else known[table]!.set(key, { key, value, expiresMs, version: versions[i]! })
              }
            }
          }
        } finally {
          await store.close()
        }
      }),
      { numRuns },
    )
    t.pass(`${numRuns} runs`)
  })
}

function toWrite(
  { table, key, value, ttlMs, condition }: Change,
  find: (table: number, key: string) => Known | undefined,
  nowMs: number,
): StoreWrite {
  const version = find(table, key)?.version ?? 0
  return {
    table: TABLES[table]!,
    key,
    expiresMs: ttlMs === 0 ? 0 : nowMs + ttlMs,
    ...(value !== undefined && { value: Buffer.from(value) }),
    ...(condition === 'absent' && { ifVersion: 0 }),
    ...(condition === 'right' && { ifVersion: version }),
    ...(condition === 'wrong' && { ifVersion: version + 1 }),
  }
}

function toPage(all: readonly Known[], query: StoreQuery): readonly Known[] {
  const { prefix = '', suffix = '', from = '', to, after, reverse = false, offset = 0 } = query
  const matching = all
    .filter(({ key }) => key.startsWith(prefix) && key.endsWith(suffix) && compare(key, from) >= 0)
    .filter(({ key }) => to === undefined || compare(key, to) < 0)
    .sort((a, b) => (reverse ? compare(b.key, a.key) : compare(a.key, b.key)))
    .filter(({ key }) => after === undefined || compare(key, after) * (reverse ? -1 : 1) > 0)
  return matching.slice(offset)
}

function checkPage(
  expected: readonly Known[],
  { records, next }: Awaited<ReturnType<ReturnType<typeof createStore>['list']>>,
  { limit = 0 }: StoreQuery,
): void {
  const target = limit === 0 ? expected : expected.slice(0, limit)
  const received = records.map(({ key, value, expiresMs, version }) => {
    return { key, value: Buffer.from(value).toString(), expiresMs, version }
  })
  if (JSON.stringify(received) !== JSON.stringify(target))
    throw new Error(`listed ${JSON.stringify(received)}, not ${JSON.stringify(target)}`)
  const isIncomplete = target.length < expected.length
  if (isIncomplete && next === undefined) throw new Error('the result has no cursor')
  if (next !== undefined && next !== records.at(-1)?.key) throw new Error(`next is ${next}`)
}

function exists({ expiresMs }: Known, nowMs: number): boolean {
  return expiresMs === 0 || expiresMs > nowMs
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
