// Specification and docs/config.md: the configuration is intact after a kill at any time. `MX_KILLS=200` kills more
// often.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createStore, type Store } from '../../domain/store/store.ts'
import { HEAD, KEY_NOTE, toKeys, toTable } from '../../services/config/records.ts'
import { openSecretKey } from '../../services/config/secrets/open-secret-key.ts'
import { readKeyNote } from '../../services/config/secrets/rotate-key.ts'
import { parseSecretKey, type SecretKey } from '../../services/config/secrets/secret-key.ts'
import { createSnapshots } from '../../services/config/snapshots.ts'
import { formatTreeJson } from '../../services/config/tree/tree-text.ts'
import { startCrashing } from '../fixtures/crash-process.ts'
import { dumpStore, KEY, OTHER_KEY } from '../fixtures/platform-config.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const WRITER = new URL('../fixtures/config-writer.ts', import.meta.url)
const KILLS = Number(process.env['MX_KILLS'] ?? 16)
t.setTimeout(60_000 + KILLS * 5000)
/** Kills happen within this time after the store was opened (every third round) or after the first changes. */
const MAX_LIFE_MS = 300

interface Values {
  readonly left: number
  readonly right: number
  readonly hidden?: number
}

/** Last acknowledged change of each writer. */
function readNotes(notes: string): Map<string, number> {
  const text = readFileSync(notes, 'utf8')
  const last = new Map<string, number>()
  // The last line may be truncated.
  for (const line of text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)) {
    const [writer, n] = line.split(' ')
    last.set(writer!, Number(n))
  }
  return last
}

/** All versions of a namespace in order. @throws {Error} when one cannot be read or decrypted. */
async function readVersions(store: Store, namespace: string, key: SecretKey) {
  const snapshots = createSnapshots(store)
  const snapshot = await snapshots.read(namespace)
  const versions: Record<string, Values>[] = []
  for (const { version } of snapshot.head?.versions ?? []) {
    const { tree } = await snapshots.readVersion(namespace, version, '')
    const text = formatTreeJson(tree, [], ({ names, leaf }) => {
      const opened = key.open(namespace, names.join('.'), leaf.text)
      if (opened === undefined) throw new Error(`version ${version}: ${names.join('.')}`)
      return opened
    })
    versions.push(JSON.parse(text))
  }
  return { head: snapshot.head, versions }
}

t.test(
  'retains every acknowledged change, none partially, after SIGKILL at random times',
  async (t) => {
    const folder = makeTempFolder(t, 'config-kill')
    const notes = join(folder, 'notes')
    const { runAndKill } = startCrashing(t, WRITER)
    let changed = 0
    let before = ''
    for (let round = 0; round < KILLS; round++) {
      const keys = round % 2 === 0 ? [KEY, OTHER_KEY] : [OTHER_KEY, KEY]
      // The rotation to this key may not have finished yet.
      const after = round % 3 === 0 ? 'open' : 'writing'
      await runAndKill([folder, notes, ...keys], { after, maxLifeMs: MAX_LIFE_MS })
      const store = createStore(createLmdbStore({ folder }))
      const note = await readKeyNote(store)
      if (note === undefined) {
        await store.close()
        continue
      }
      if (before !== '' && note.keyId !== before) changed++
      before = note.keyId
      const text = [KEY, OTHER_KEY].find(
        (secret) => parseSecretKey(secret, 'key').id === note.keyId,
      )!
      const other = text === KEY ? OTHER_KEY : KEY
      const key = (await openSecretKey({ store, key: text }))!
      const last = readNotes(notes)
      let missing = 0
      let incomplete = 0
      let read = 0
      for (const namespace of ['n0', 'n1', 'n2']) {
        const { head, versions } = await readVersions(store, namespace, key)
        const keys = new Set(head === undefined ? [] : [HEAD, KEY_NOTE.key, ...toKeys(head)])
        const { records } = await store.list(toTable(namespace), { keysOnly: true })
        for (const record of records) if (!keys.has(record.key)) incomplete++
        for (const tree of versions) {
          read++
          for (const { left, right, hidden = left } of Object.values(tree))
            if (left !== right || hidden > left) incomplete++
        }
        for (const [name, { left }] of Object.entries(versions.at(-1) ?? {}))
          if (left < (last.get(name.slice(1)) ?? 0)) missing++
      }
      if ((await dumpStore(store)).includes(parseSecretKey(other, 'key').id)) incomplete++
      t.strictSame(
        { missing, incomplete },
        { missing: 0, incomplete: 0 },
        `kill ${round}: ${read} versions`,
      )
      await store.close()
    }
    const acknowledged = [...readNotes(notes).values()].reduce((sum, n) => sum + n, 0)
    t.ok(
      acknowledged > KILLS && changed > 0,
      `${acknowledged} acknowledged, ${changed} key rotations`,
    )
    t.comment(`${acknowledged} acknowledged changes of values, ${changed} of keys`)
  },
)
