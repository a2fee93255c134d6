// Specification, by way of docs/store.md: an acknowledged write survives kill -9. `MX_KILLS=200` kills more often.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import type { StoreTable } from '../../core/contracts/store.ts'
import { createStore, type Store } from '../../core/store/store.ts'
import { toNodeWords } from '../fixtures/programs.ts'
import { LEFT, makeValue, RIGHT, WRITERS } from '../fixtures/store-pairs.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const WRITER = new URL('../fixtures/store-writer.ts', import.meta.url)
const KILLS = Number(process.env['MX_KILLS'] ?? 50)
t.setTimeout(60_000 + KILLS * 5000)
/** Kills come within this time after the first write. */
const MAX_LIFE_MS = 250

/** Has a process write, kills it at some moment, and tells what was acknowledged: keys and versions. */
async function writeAndKill(t: Test, folder: string, sync: string, round: number) {
  // Not by its output: a pipe nobody reads for a moment takes no more.
  const notes = join(folder, `notes-${round}`)
  const words = toNodeWords(WRITER, folder, sync, String(round), notes)
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  setTimeout(() => child.kill('SIGKILL'), Math.random() * MAX_LIFE_MS)
  const [code, signal] = await closed
  t.strictSame({ code, signal }, { code: null, signal: 'SIGKILL' })
  const told = readFileSync(notes, 'utf8')
  // The last line may have been cut off.
  const lines = told
    .slice(0, told.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
  return lines.map((line) => line.split(' ') as [string, string])
}

async function readAll(store: Store, table: StoreTable): Promise<Map<string, Buffer>> {
  const all = new Map<string, Buffer>()
  let after: string | undefined
  do {
    const page = await store.list(table, after === undefined ? {} : { after })
    for (const { key, value } of page.records) all.set(key, Buffer.from(value))
    after = page.next
  } while (after !== undefined)
  return all
}

for (const sync of ['os', 'always']) {
  t.test(
    `${sync}: killed at any moment, every acknowledged write is there and none is torn`,
    async (t) => {
      const folder = makeTempFolder(t, 'kill')
      const acknowledged = new Map<string, number>()
      let lastVersion = 0
      let unacknowledged = 0
      for (let round = 0; round < KILLS / 2; round++) {
        for (const [key, version] of await writeAndKill(t, folder, sync, round))
          acknowledged.set(key, Number(version))
        const store = createStore(createLmdbStore({ folder }))
        const left = await readAll(store, LEFT)
        const right = await readAll(store, RIGHT)
        let missing = 0
        let torn = 0
        for (const key of acknowledged.keys()) if (!left.has(key)) missing++
        for (const [key, value] of left) {
          if (key.startsWith('last/')) continue
          if (!acknowledged.has(key)) unacknowledged++
          if (!value.equals(makeValue(key))) torn++
          const [ofRound, writer, n] = key.split('/')
          // Ten writes later its pair is deleted, together with a write.
          const isDeleted = left.has(`${ofRound}/${writer}/${Number(n) + 10}`)
          if (right.has(key) === isDeleted) torn++
          if (!isDeleted && !right.get(key)?.equals(value)) torn++
        }
        for (let writer = 0; writer < WRITERS; writer++) {
          const last = left.get(`last/${writer}`)?.toString()
          if (last !== undefined && !left.has(last)) torn++
        }
        const [version] = await store.commit([
          { table: LEFT, key: 'last/version', value: Buffer.from('0/0/1') },
        ])
        await store.commit([{ table: LEFT, key: 'last/version' }])
        t.strictSame(
          { missing, torn },
          { missing: 0, torn: 0 },
          `kill ${round}: ${acknowledged.size}`,
        )
        t.ok(version! > Math.max(lastVersion, ...[...acknowledged.values()].slice(-1000)))
        lastVersion = version!
        await store.close()
      }
      t.ok(
        acknowledged.size > KILLS,
        `${acknowledged.size} acknowledged, ${unacknowledged} besides`,
      )
      t.comment(`${acknowledged.size} acknowledged writes, ${unacknowledged} that were not`)
    },
  )
}
