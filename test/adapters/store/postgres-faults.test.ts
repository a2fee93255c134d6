import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPostgresStore } from '../../../adapters/store/postgres.ts'
import type { StoreAdapter, StoreChange, StoreEvent } from '../../../core/contracts/store.ts'
import type { GatewayError } from '../../../core/errors.ts'
import { type PostgresServer, startPostgres } from '../../fixtures/postgres.ts'

const table = { database: 'mx', table: 'users' }
const NOW_MS = 1000
/** Number of kills under load. */
const ROUNDS = 3
const GROUPS = 20

const write = (key: string, value: Uint8Array | string): StoreChange => ({
  table,
  key,
  value: Buffer.from(value),
  metadata: {},
  expiresMs: 0,
  ifVersion: undefined,
})

t.test('loses no acknowledged write when the server restarts under load', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const loads = [startLoad(t, server, 'a'), startLoad(t, server, 'b')]
  const acknowledged = (): number => loads.reduce((sum, { acked }) => sum + acked.size, 0)
  for (let round = 0; round < ROUNDS; round++) {
    const before = acknowledged()
    while (acknowledged() < before + 10 * GROUPS) await delay(1)
    await (round % 3 === 2 ? server.stop() : server.kill())
    const failed = loads.map(({ failures }) => failures())
    while (loads.some(({ failures }, i) => failures() === failed[i])) await delay(1)
    await server.start()
  }
  const before = acknowledged()
  while (acknowledged() < before + 10 * GROUPS) await delay(1)
  for (const { stop } of loads) await stop()
  t.same([...new Set(loads.flatMap(({ codes }) => [...codes]))], [503])

  const result = await readAll(open(t, server))
  let lost = 0
  let incomplete = 0
  for (const { acked, pairs } of loads) {
    for (const [key, value] of acked) if (result.get(key) !== value) lost++
    for (const [first, second] of pairs) if (result.has(first) !== result.has(second)) incomplete++
  }
  t.comment(`${acknowledged()} acknowledged, ${ROUNDS} restarts`)
  t.equal(lost, 0)
  t.equal(incomplete, 0, 'no group was written partially')
})

t.test('reports missed events after a restart and continues', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const adapter = open(t, server)
  const events: StoreEvent[] = []
  let gaps = 0
  const stop = await adapter.watch!({
    onEvent: (event) => events.push(event),
    onMissedEvents: () => {
      gaps++
    },
  })
  t.teardown(stop)
  await server.kill()
  await server.start()
  while (gaps === 0) await delay(1)
  const second = open(t, server)
  await second.commit([[write('a', 'of another gateway')]], NOW_MS)
  while (events.length === 0) await delay(1)
  t.same(events, [{ type: 'write', table, key: 'a' }])
})

t.test('fails with 503 in time while the server is unreachable or silent', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const adapter = open(t, server, { statementTimeoutMs: 200, connectTimeoutMs: 300 })
  await adapter.commit([[write('a', '1')]], NOW_MS)
  const calls = (): Promise<unknown>[] => [
    Promise.resolve(adapter.read(table, 'a')),
    Promise.resolve(adapter.scan(table, { limit: 1, maxBytes: 1 })),
    Promise.resolve(adapter.commit([[write('a', '2')]], NOW_MS)),
    Promise.resolve(adapter.listTables({ limit: 1 })),
    Promise.resolve(adapter.purge!(NOW_MS, 10)),
  ]
  server.freeze()
  for (const first of await Promise.allSettled(calls()))
    t.match(first, { status: 'rejected', reason: { code: 503 } })
  server.resume()
  await server.stop()
  for (const first of await Promise.allSettled(calls()))
    t.match(first, { status: 'rejected', reason: { code: 503 } })
  await server.start()
  while ((await Promise.resolve(adapter.read(table, 'a')).catch(() => undefined)) === undefined)
    await delay(1)
  t.ok((await adapter.listTables({ limit: 1 })).length)
})

t.test('starts before its server and works once the server is up', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  await server.stop()
  const adapter = open(t, server)
  await t.rejects(Promise.resolve(adapter.read(table, 'a')), { code: 503 })
  await server.start()
  let outcome: unknown
  while (outcome === undefined)
    outcome = await Promise.resolve(adapter.commit([[write('a', '1')]], NOW_MS)).catch(() =>
      delay(1),
    )
  t.ok(await adapter.read(table, 'a'))
})

t.test('fails writes with 507 on a full disk, still reads and deletes, and recovers', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  const folder = join(server.folder, 'small')
  const adapter = open(t, server)
  await adapter.commit([[write('kept', 'kept')]], NOW_MS)
  if (!mountSmall(t, server.folder, folder)) return t.comment('a small disk cannot be mounted here')
  await server.query(`CREATE TABLESPACE small LOCATION '${folder}'`)
  await server.query('ALTER TABLE mx.records SET TABLESPACE small', 'mx')
  // Incompressible.
  const value = randomBytes(64 * 1024)
  let error: GatewayError | undefined
  let written = 0
  while (error === undefined && written < 1000) {
    const key = `big ${written}`
    error = await Promise.resolve(
      adapter.commit([[write(key, value)], [write('with', key)]], NOW_MS),
    ).then(
      () => undefined,
      (error: GatewayError) => error,
    )
    if (error === undefined) written++
  }
  t.match(error, { code: 507, message: /full/, cause: { code: '53100' } })
  t.equal(await adapter.read(table, `big ${written}`), undefined)
  t.equal(Buffer.from((await adapter.read(table, 'kept'))!.value).toString(), 'kept')
  const last = Buffer.from((await adapter.read(table, 'with'))!.value).toString()
  t.equal(last, `big ${written - 1}`, 'no part of the failed commit exists')
  const removed = Array.from({ length: written }, (_, i) => ({
    ...write(`big ${i}`, ''),
    value: undefined,
  }))
  await adapter.commit([removed], NOW_MS)
  t.equal(await adapter.read(table, 'big 0'), undefined)
  spawnSync('mount', ['-o', 'remount,size=16m', folder])
  t.ok(await adapter.commit([[write('big again', value)]], NOW_MS))
})

function open(t: Test, server: PostgresServer, options: object = {}): StoreAdapter {
  const adapter = createPostgresStore({ url: server.url(), ...options })
  t.teardown(() => adapter.close!())
  return adapter
}

interface Load {
  /** Acknowledged values by key. */
  readonly acked: Map<string, string>
  /** Keys written in one group. */
  readonly pairs: readonly (readonly [string, string])[]
  readonly codes: Set<number>
  readonly failures: () => number
  readonly stop: () => Promise<void>
}

async function readAll(adapter: StoreAdapter): Promise<Map<string, string>> {
  const result = new Map<string, string>()
  for (let from = ''; ; ) {
    const { records, more } = await adapter.scan(table, { from, limit: 1000, maxBytes: 1e7 })
    for (const { key, value } of records) result.set(key, Buffer.from(value).toString())
    if (!more) return result
    from = `${records.at(-1)!.key}\0`
  }
}

/** Commits continuously until it is stopped. */
function startLoad(t: Test, server: PostgresServer, name: string): Load {
  const adapter = open(t, server)
  const acked = new Map<string, string>()
  const pairs: [string, string][] = []
  const codes = new Set<number>()
  let failures = 0
  let hasEnded = false

  async function run(): Promise<void> {
    for (let round = 0; !hasEnded; round++) {
      const groups = Array.from({ length: GROUPS }, (_, i) => {
        const key = `${name} ${round} ${i}`
        return [write(key, `value of ${key}`), write(`${key} pair`, 'pair')]
      })
      try {
        await adapter.commit(groups, NOW_MS)
        for (const [{ key }] of groups as [StoreChange][]) acked.set(key, `value of ${key}`)
      } catch (error) {
        failures++
        codes.add((error as GatewayError).code)
        for (const [first, second] of groups) pairs.push([first!.key, second!.key])
        await delay(1)
      }
    }
  }

  const running = run()
  const stop = (): Promise<void> => {
    hasEnded = true
    return running
  }
  t.teardown(stop)
  return { acked, pairs, codes, failures: () => failures, stop }
}

/** A disk of 8 MB with the owner of `owned`, if the system allows one. */
function mountSmall(t: Test, owned: string, folder: string): boolean {
  const { uid, gid } = statSync(owned)
  mkdirSync(folder)
  const options = `size=8m,mode=700,uid=${uid},gid=${gid}`
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) return false
  t.teardown(() => spawnSync('umount', ['-l', folder]))
  return true
}
