import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createMemoryStore } from '../../adapters/store/memory.ts'
import { createStore, type Store } from '../../domain/store/store.ts'
import type { Micro } from './micro.ts'

const CALLERS = 1000
const RECORDS = 1_000_000
/** Number of keys, out of all records, that are written. */
const WRITTEN = 100_000
const TABLE = { database: 'mx', table: 'bench' }
const VALUE = Buffer.alloc(128, 'v')

const folder = mkdtempSync(join(tmpdir(), 'mx-store-commit-'))
const open = (name: string, sync: 'os' | 'always'): Store =>
  createStore(createLmdbStore({ folder: join(folder, name), sync }))
const stores = {
  memory: createStore(createMemoryStore()),
  os: open('os', 'os'),
  always: open('always', 'always'),
}

const toKey = (i: number): string => `user/${String(i).padStart(7, '0')}`
const write = (store: Store, key: string) => store.commit([{ table: TABLE, key, value: VALUE }])

for (const store of [stores.os, stores.always])
  for (let i = 0; i < RECORDS; i += CALLERS)
    await Promise.all(Array.from({ length: CALLERS }, (_, n) => write(store, toKey(i + n))))

let next = 0
/** Writes one record per caller within a single event loop tick. */
const writeAll = (store: Store) => () => {
  next = (next + 7919) % WRITTEN
  return Promise.all(
    Array.from({ length: CALLERS }, (_, n) => write(store, toKey((next + n * 31) % WRITTEN))),
  )
}

/** Reads records one by one. The sum prevents dead-code elimination. */
function read(): number {
  let bytes = 0
  for (let i = 0; i < CALLERS; i++) {
    next = (next + 7919) % RECORDS
    const record = stores.os.read(TABLE, toKey(next))
    if (record !== undefined && !(record instanceof Promise)) bytes += record.value.length
  }
  return bytes
}

async function readPage(): Promise<number> {
  next = (next + 7919) % RECORDS
  const prefix = toKey(next).slice(0, -3)
  const { records } = await stores.os.list(TABLE, { prefix })
  if (records.length !== 1000) throw new Error(`${records.length} records start with ${prefix}`)
  return records.length
}

const micro: Micro = {
  benches: {
    [`write ${CALLERS} records in one tick, memory`]: writeAll(stores.memory),
    [`write ${CALLERS} records in one tick, sync os`]: writeAll(stores.os),
    [`write ${CALLERS} records in one tick, sync always`]: writeAll(stores.always),
    'write 1 record, sync os': () => write(stores.os, toKey((next + 1) % RECORDS)),
    [`read ${CALLERS} records`]: read,
    [`read a page of 1000 of ${RECORDS} records`]: readPage,
  },
  budgetNs: {
    // Equivalent to 80 000 writes per second, 60 000 with fsync, and 100 000 reads.
    [`write ${CALLERS} records in one tick, sync os`]: 12_500_000,
    [`write ${CALLERS} records in one tick, sync always`]: 16_600_000,
    [`read ${CALLERS} records`]: 10_000_000,
    [`read a page of 1000 of ${RECORDS} records`]: 5_000_000,
  },
  async close() {
    for (const store of Object.values(stores)) await store.close()
    rmSync(folder, { recursive: true, force: true })
  },
}

export default micro
