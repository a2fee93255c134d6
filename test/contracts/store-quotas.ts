import type { Test } from 'tap'
import type { StoreAdapter, StoreChange } from '../../core/contracts/store.ts'
import { createQuota } from '../../core/limits/quota.ts'
import type { StoreQuotas } from '../../domain/store/usage.ts'
import type { Maybe } from '../../lib/async/maybe.ts'

/** Reopens the data of the closed adapter. Opens an empty store if the store is not persistent. */
export type OpenWithQuotas = (quotas: StoreQuotas) => Maybe<StoreAdapter>

const NOW_MS = 1_000_000
const LIMIT = 100_000
const QUOTAS: StoreQuotas = {
  store: createQuota('quota_store', { limit: LIMIT, namespaces: { large: 1e9 } }),
  config: createQuota('quota_config', { limit: LIMIT, namespaces: {} }),
}

/** Quotas of namespaces that every store must enforce. */
export function testStoreQuotas(
  t: Test,
  create: (t: Test) => Maybe<OpenWithQuotas>,
  isPersistent: boolean,
): void {
  const write = (
    key: string,
    bytes: number,
    overrides: Partial<StoreChange> = {},
  ): StoreChange => ({
    ...{ table: { database: 'acme', table: 'a' }, key, value: Buffer.alloc(bytes) },
    ...{ metadata: {}, expiresMs: 0, ifVersion: undefined },
    ...overrides,
  })
  const remove = (key: string): StoreChange => write(key, 0, { value: undefined })
  const toCommit =
    (adapter: StoreAdapter) =>
    async (...group: StoreChange[]): Promise<unknown> => {
      const [outcome] = await adapter.commit([group], NOW_MS)
      return outcome instanceof Error ? outcome : 'done'
    }
  const quotaError = {
    ...{ id: 'store', code: 507 },
    message:
      /^quota_store reached in namespace acme: \d+ bytes of 100000b? in use; delete records or blobs, or raise the quota \(quota_store=acme=\.\.\.\)$/,
  }

  t.test('quotas: limits a namespace without affecting others', async (t) => {
    const adapter = await (await create(t))(QUOTAS)
    t.teardown(() => adapter.close?.())
    const commit = toCommit(adapter)
    t.equal(await commit(write('a', 60_000)), 'done')
    t.match(await commit(write('b', 60_000)), quotaError)
    t.equal(await adapter.read(write('b', 0).table, 'b'), undefined)
    t.equal(await commit(write('a', 61_000)), 'done', 'replaced values are not counted')
    t.match(await commit(write('c', 1), write('b', 60_000)), quotaError, 'the total of a group')
    const outcomes = await adapter.commit(
      [
        [write('b', 60_000)],
        [write('b', 60_000, { table: { database: 'other', table: 'a' } })],
        [write('b', 60_000, { table: { database: 'acme', table: 'config' } })],
        [write('b', 600_000, { table: { database: 'mx', table: 'a' } })],
        [write('b', 600_000, { table: { database: 'large', table: 'a' } })],
        [write('b', 600_000, { table: { database: 'acme', table: 'auth' } })],
      ],
      NOW_MS,
    )
    t.same(
      outcomes.map((outcome) => outcome instanceof Error),
      [true, false, false, false, false, false],
    )
  })

  t.test('quotas: frees space of deleted, expired and shortened records', async (t) => {
    const adapter = await (await create(t))(QUOTAS)
    t.teardown(() => adapter.close?.())
    const commit = toCommit(adapter)
    t.equal(await commit(write('a', 90_000)), 'done')
    t.match(await commit(write('b', 20_000)), quotaError)
    t.equal(await commit(write('a', 70_000)), 'done')
    t.equal(await commit(write('b', 20_000, { expiresMs: NOW_MS + 1 })), 'done')
    t.match(await commit(write('c', 20_000)), quotaError)
    t.equal(await commit(remove('a'), write('c', 60_000)), 'done')
    t.match(await commit(write('d', 30_000)), quotaError)
    await adapter.purge!(NOW_MS + 1, 100)
    t.equal(await commit(write('d', 30_000)), 'done')
    for (const key of ['c', 'd']) t.equal(await commit(remove(key)), 'done')
    t.equal(await commit(write('e', 95_000)), 'done')
  })

  if (isPersistent)
    t.test('quotas: counts stored records after reopening', async (t) => {
      const open = await create(t)
      const first = await open(QUOTAS)
      t.equal(await toCommit(first)(write('a', 90_000)), 'done')
      await first.close?.()
      const reopened = await open(QUOTAS)
      t.teardown(() => reopened.close?.())
      t.match(await toCommit(reopened)(write('b', 20_000)), quotaError)
      t.equal(await toCommit(reopened)(remove('a'), write('b', 20_000)), 'done')
    })
}

/**
 * A store with a limit of 160 kB.
 * @param create opens a store with this limit in bytes. A persistent adapter retains its records.
 */
export function testStoreReserve(
  t: Test,
  create: () => (maxBytes: number) => StoreAdapter,
  isPersistent = false,
): void {
  const LIMIT = 160_000
  const fullError = { id: 'store', code: 507, message: 'the store is full: nothing was written' }
  const change = (database: string, table: string, key: string, bytes?: number): StoreChange => ({
    ...{
      table: { database, table },
      key,
      value: bytes === undefined ? undefined : Buffer.alloc(bytes),
    },
    ...{ metadata: {}, expiresMs: 0, ifVersion: undefined },
  })

  t.test('reserves space of a full store for accounts, rules and runtime objects', async (t) => {
    const open = create()
    const adapter = open(LIMIT)
    t.teardown(() => adapter.close?.())
    const commit = async (on: StoreAdapter, ...groups: StoreChange[]): Promise<boolean[]> => {
      const outcomes = await on.commit(
        groups.map((group) => [group]),
        NOW_MS,
      )
      for (const outcome of outcomes) if (outcome instanceof Error) t.match(outcome, fullError)
      return outcomes.map((outcome) => !(outcome instanceof Error))
    }
    const unreserved = [change('tb', 'a', '2', 10_000), change('mx', 'a', '2', 10_000)]
    const reserved = [
      change('mx', 'auth', 'rule', 10_000),
      change('mx', 'runtime', 'object', 5_000),
      change('mx', 'auth', 'more', 10_000),
    ]
    t.same(await commit(adapter, change('tb', 'a', '1', 150_000), ...unreserved, ...reserved), [
      ...[true, false, false],
      ...[true, true, false],
    ])
    if (isPersistent) {
      const other = open(LIMIT)
      t.teardown(() => other.close?.())
      t.same(await commit(other, ...unreserved), [false, false], 'another server')
      const lower = open(LIMIT / 2)
      t.teardown(() => lower.close?.())
      t.same(await commit(lower, change('mx', 'auth', 'less', 1)), [false], 'a lower limit')
      t.same(await commit(lower, change('tb', 'a', '1', 149_000)), [true], 'shorter than before')
    }
    t.same(await commit(adapter, change('tb', 'a', '1')), [true])
    t.same(await commit(adapter, ...unreserved), [true, true], 'space is available again')
  })

  t.test('denies the reserve to records of tenants, and frees it by deletions', async (t) => {
    const adapter = create()(LIMIT)
    t.teardown(() => adapter.close?.())
    const commit = async (...group: StoreChange[]): Promise<boolean> => {
      const [outcome] = await adapter.commit([group], NOW_MS)
      return !(outcome instanceof Error)
    }
    t.ok(await commit(change('tb', 'a', '1', 159_000)))
    const login = { ...change('mx', 'auth', 'login', 2000), mayUseReserve: false }
    t.notOk(await commit(login), 'of a tenant')
    t.notOk(await commit(change('mx', 'auth', 'rule', 100), login), 'as part of a group')
    t.ok(await commit(change('mx', 'auth', 'account', 9000)), 'of an operator')
    t.notOk(await commit(change('mx', 'auth', 'revoked', 2000)), 'the reserve is full')
    const replacement = [change('mx', 'auth', 'account'), change('mx', 'auth', 'revoked', 2000)]
    t.ok(await commit(...replacement), 'a deletion makes room for its replacement')
  })
}
