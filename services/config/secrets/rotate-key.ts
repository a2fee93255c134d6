import { setTimeout } from 'node:timers/promises'
import { commitIf } from '../../../domain/store/commit-if.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import {
  CONFIG_TABLE,
  formatHead,
  formatKeyNote,
  HEAD,
  KEY_NOTE,
  type KeyNote,
  parseHead,
  parseKeyNote,
  toKeys,
  toTable,
} from '../records.ts'
import { formatPath } from '../tree/path.ts'
import { mapLeaves } from '../tree/tree.ts'
import { formatStored, parseStored } from '../tree/tree-text.ts'
import { createSealer } from './sealer.ts'
import type { SecretKey } from './secret-key.ts'

export interface KeyChange {
  readonly store: Store
  readonly from: SecretKey
  readonly to: SecretKey
  /** Time limit for retrying namespaces that change concurrently. @default 60000 */
  readonly timeoutMs?: number
}

export interface StoredKeyNote extends KeyNote {
  readonly version: number
}

/**
 * Maximum random pause after a conflict, so that attempts do not coincide with a regular writer.
 */
const PAUSE_MAX_MS = 20

/**
 * Reads which key encrypts the secrets of a store. Returns undefined if there have never been
 * secrets.
 */
export async function readKeyNote(store: Store): Promise<StoredKeyNote | undefined> {
  const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
  return record && { ...parseKeyNote(record), version: record.version }
}

/**
 * Re-encrypts all secrets of all namespaces atomically: writes new records next to the old ones,
 * switches all heads in one commit, then deletes the old records.
 *
 * @throws {Error} if `from` is not the key of the store or a secret cannot be decrypted. Nothing is
 * changed in this case.
 */
export async function changeSecretKey(change: KeyChange): Promise<void> {
  const { store, from, to, timeoutMs = 60_000 } = change
  /** Version of the source of each new record. */
  const sourceVersions = new Map<string, number>()
  let noteVersion: number | undefined
  const deadlineMs = performance.now() + timeoutMs
  for (let attempts = 0; performance.now() < deadlineMs; attempts++) {
    if (attempts > 0) await setTimeout(Math.random() * PAUSE_MAX_MS)
    const keyNote = await readKeyNote(store)
    if (keyNote === undefined || keyNote.keyId === to.id) return tidy(store)
    if (keyNote.keyId !== from.id)
      throw new Error('the secrets of the configuration are not encrypted with the previous key')
    const note = keyNote.untidy ? keyNote : await tryWrite(store, { ...keyNote, untidy: true })
    if (note === undefined) continue
    // Another process may have deleted the new records as leftovers.
    if (note.version !== noteVersion) sourceVersions.clear()
    noteVersion = note.version
    const heads: StoreWrite[] = []
    const copies: StoreWrite[] = []
    for (const namespace of await listNamespaces(store)) {
      const reencrypted = await encryptAnew(change, namespace, sourceVersions)
      if (reencrypted === undefined) continue
      heads.push(reencrypted.head)
      if (attempts === 0) await store.commit(reencrypted.copies)
      else copies.push(...reencrypted.copies)
    }
    // The few records that changed in the meantime are written together with the heads, to shorten
    // the window for further conflicts.
    if ((await tryWrite(store, { ...note, keyId: to.id }, [...heads, ...copies])) !== undefined)
      return tidy(store)
    await store.commit(copies)
  }
  throw new Error(
    'the configuration is being changed concurrently; its secret key could not be rotated',
  )
}

/** Deletes leftovers of a key rotation. */
export async function tidy(store: Store): Promise<void> {
  let note = await readKeyNote(store)
  if (note?.untidy !== true) return
  for (const namespace of await listNamespaces(store)) {
    const unknown = await listUnknown(store, namespace)
    // Written together with the note, so that a concurrent rotation does not lose records: one of the two restarts.
    note = await tryWrite(store, note, unknown)
    if (note === undefined) return
  }
  await tryWrite(store, { ...note, untidy: false })
}

/**
 * Re-encrypts the outdated records of a namespace and builds the new head. Returns undefined if the
 * namespace has no secrets.
 */
async function encryptAnew(
  { store, from, to }: KeyChange,
  namespace: string,
  sourceVersions: Map<string, number>,
): Promise<{ readonly head: StoreWrite; readonly copies: StoreWrite[] } | undefined> {
  const table = toTable(namespace)
  const record = await store.read(table, HEAD)
  const head = record && parseHead(record)
  if (record === undefined || head?.keyId === undefined) return undefined
  const { records } = await store.list(table, { keysOnly: true })
  const sources = new Map(records.map(({ key, version }) => [key, version]))
  const { open } = createSealer({ namespace, secretKey: from, keyId: head.keyId, id: 'config' })
  const versions = head.versions.map((entry) =>
    entry.keyId === undefined ? entry : { ...entry, keyId: to.id },
  )
  const newHead = { keyId: to.id, versions }
  const newKeys = toKeys(newHead)
  const copies: StoreWrite[] = []
  for (const [index, key] of toKeys(head).entries()) {
    const newKey = newKeys[index]!
    const source = sources.get(key)
    const name = `${namespace}/${key}`
    // If the record was deleted concurrently, the head has changed and the commit fails with a
    // conflict.
    if (newKey === key || source === undefined || sourceVersions.get(name) === source) continue
    const sourceRecord = await store.read(table, key)
    if (sourceRecord === undefined) continue
    const reencrypted = mapLeaves(
      parseStored(Buffer.from(sourceRecord.value).toString()),
      ({ names, leaf }) => {
        if (!leaf.secret) return leaf
        const text = open(names, leaf.text)
        return { text: to.seal(namespace, formatPath(names), text), secret: true }
      },
    )
    copies.push({ table, key: newKey, value: Buffer.from(formatStored(reencrypted)) })
    sourceVersions.set(name, source)
  }
  const write = { table, key: HEAD, value: formatHead(newHead), ifVersion: record.version }
  return { head: write, copies }
}

/** Returns deletions of the records that are not listed in any head. */
async function listUnknown(store: Store, namespace: string): Promise<StoreWrite[]> {
  const table = toTable(namespace)
  const { records } = await store.list(table, { keysOnly: true })
  // Read after the list, so records missing in this head will never be listed.
  const record = await store.read(table, HEAD)
  const listed = new Set([HEAD, KEY_NOTE.key, ...(record ? toKeys(parseHead(record)) : [])])
  return records.filter(({ key }) => !listed.has(key)).map(({ key }) => ({ table, key }))
}

async function listNamespaces(store: Store): Promise<string[]> {
  const tables = await store.listTables()
  return tables.filter(({ table }) => table === CONFIG_TABLE).map(({ database }) => database)
}

/**
 * Replaces the note with a certain version, together with other writes.
 *
 * @returns the stored note, or undefined on a conflict.
 */
async function tryWrite(
  store: Store,
  { version: ifVersion, ...note }: StoredKeyNote,
  more: readonly StoreWrite[] = [],
): Promise<StoredKeyNote | undefined> {
  const { keyId, untidy } = note
  const value = formatKeyNote({ keyId, untidy })
  const versions = await commitIf(store, [{ ...KEY_NOTE, value, ifVersion }, ...more])
  return versions && { keyId, untidy, version: versions[0]! }
}
