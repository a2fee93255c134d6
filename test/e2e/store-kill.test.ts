// Specification and docs/store.md: an acknowledged write survives kill -9. `MX_KILLS=200` kills more often.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import type { StoreTable } from '../../core/contracts/store.ts'
import { createStore, type Store } from '../../domain/store/store.ts'
import { type CrashingProcess, startCrashing } from '../fixtures/crash-process.ts'
import { LEFT, makeValue, RIGHT, WRITERS } from '../fixtures/store-pairs.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const WRITER = new URL('../fixtures/store-writer.ts', import.meta.url)
const KILLS = Number(process.env['MX_KILLS'] ?? 16)
t.setTimeout(60_000 + KILLS * 5000)
/** Kills happen within this time after the first write. */
const MAX_LIFE_MS = 250

/** Runs a process that writes, kills it at a random time and returns the acknowledged keys with their versions. */
async function writeAndKill(
  { runAndKill }: CrashingProcess,
  folder: string,
  sync: string,
  round: number,
): Promise<Map<string, number>> {
  // Its output is not used for this, because an unread pipe blocks.
  const notes = join(folder, `notes-${round}`)
  const args = [folder, sync, String(round), notes]
  await runAndKill(args, { after: 'writing', maxLifeMs: MAX_LIFE_MS })
  const output = readFileSync(notes, 'utf8')
  // The last line may be truncated.
  const lines = output
    .slice(0, output.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
  return new Map(
    lines.map((line) => {
      const [key, version] = line.split(' ')
      return [key!, Number(version)]
    }),
  )
}

async function readAll(
  store: Store,
  table: StoreTable,
  prefix: string,
): Promise<Map<string, Buffer>> {
  const all = new Map<string, Buffer>()
  let after: string | undefined
  do {
    const page = await store.list(table, after === undefined ? { prefix } : { prefix, after })
    for (const { key, value } of page.records) all.set(key, Buffer.from(value))
    after = page.next
  } while (after !== undefined)
  return all
}

/** Acknowledged records with a prefix (of a round, or all) that are missing or changed. */
async function findFaults(store: Store, prefix: string, acknowledged: Iterable<string>) {
  const remaining = await readAll(store, LEFT, prefix)
  const right = await readAll(store, RIGHT, prefix)
  let missing = 0
  let incomplete = 0
  let written = 0
  for (const key of acknowledged) if (!remaining.has(key)) missing++
  for (const [key, value] of remaining) {
    if (key.startsWith('last/')) continue
    written++
    if (!value.equals(makeValue(key))) incomplete++
    const [roundKey, writer, n] = key.split('/')
    // Ten writes later, its pair is deleted in the same commit as another write.
    const isDeleted = remaining.has(`${roundKey}/${writer}/${Number(n) + 10}`)
    if (right.has(key) === isDeleted) incomplete++
    if (!isDeleted && !right.get(key)?.equals(value)) incomplete++
  }
  for (let writer = 0; writer < WRITERS; writer++) {
    const last = await store.read(LEFT, `last/${writer}`)
    if (last === undefined) continue
    if ((await store.read(LEFT, Buffer.from(last.value).toString())) === undefined) incomplete++
  }
  return { faults: { missing, incomplete }, written }
}

for (const sync of ['os', 'always']) {
  t.test(
    `${sync}: after SIGKILL at random times every acknowledged write exists and none is partial`,
    async (t) => {
      const folder = makeTempFolder(t, 'kill')
      const writers = startCrashing(t, WRITER)
      const acknowledged = new Set<string>()
      let lastVersion = 0
      for (let round = 0; round < KILLS / 2; round++) {
        const written = await writeAndKill(writers, folder, sync, round)
        for (const key of written.keys()) acknowledged.add(key)
        const store = createStore(createLmdbStore({ folder }))
        const { faults } = await findFaults(store, `${round}/`, written.keys())
        t.strictSame(faults, { missing: 0, incomplete: 0 }, `kill ${round}: ${written.size} writes`)
        const [version] = await store.commit([
          { table: LEFT, key: 'last/version', value: Buffer.from('0/0/1') },
        ])
        await store.commit([{ table: LEFT, key: 'last/version' }])
        t.ok(version! > Math.max(lastVersion, ...[...written.values()].slice(-1000)))
        lastVersion = version!
        await store.close()
      }
      const store = createStore(createLmdbStore({ folder }))
      const { faults, written } = await findFaults(store, '', acknowledged)
      t.strictSame(faults, { missing: 0, incomplete: 0 }, 'all earlier records exist at the end')
      await store.close()
      const others = written - acknowledged.size
      const counts = `${acknowledged.size} acknowledged writes, ${others} that were not`
      t.ok(acknowledged.size > KILLS, counts)
      t.comment(counts)
    },
  )
}
