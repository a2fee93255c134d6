import { commitIf } from '../../../domain/store/commit-if.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import {
  formatHead,
  formatKeyNote,
  HEAD,
  KEY_NOTE,
  type KeyNote,
  parseHead,
  parseKeyNote,
  TABLE,
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
}

/** What a store says of its key. */
export interface StoredKeyNote extends KeyNote {
  /** Version of the record. */
  readonly version: number
}

/** Namespaces may change meanwhile: then what changed is done again. */
const MAX_ATTEMPTS = 100

/** Which key the secrets of a store are encrypted with; undefined: there never were any. */
export async function readKeyNote(store: Store): Promise<StoredKeyNote | undefined> {
  const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
  return record && { ...parseKeyNote(record), version: record.version }
}

/**
 * Encrypts all secrets of all namespaces with another key, all or nothing: records are written anew beside those there are,
 * then one commit puts all heads over to them, and at last the old ones are deleted.
 *
 * @throws {Error} when `from` is not the key of the store, or a secret cannot be decrypted: then everything is as before.
 */
export async function changeSecretKey(change: KeyChange): Promise<void> {
  const { store, from, to } = change
  /** Of records written anew: the version of the record they were made of. */
  const done = new Map<string, number>()
  let seen: number | undefined
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    const found = await readKeyNote(store)
    if (found === undefined || found.keyId === to.id) return tidy(store)
    if (found.keyId !== from.id)
      throw new Error('the secrets of the configuration are not encrypted with the key to change')
    const note = found.untidy ? found : await tryWrite(store, { ...found, untidy: true })
    if (note === undefined) continue
    // Somebody may have tidied up what was written anew.
    if (note.version !== seen) done.clear()
    seen = note.version
    const heads: StoreWrite[] = []
    const copies: StoreWrite[] = []
    for (const namespace of await listNamespaces(store)) {
      const anew = await encryptAnew(change, namespace, done)
      if (anew === undefined) continue
      heads.push(anew.head)
      if (attempts === 0) await store.commit(anew.copies)
      else copies.push(...anew.copies)
    }
    // The few that came meanwhile go with the heads, so that little time is left for more to come.
    if ((await tryWrite(store, { ...note, keyId: to.id }, [...heads, ...copies])) !== undefined)
      return tidy(store)
    await store.commit(copies)
  }
  throw new Error('the configuration is changed all the time: its secret key could not be')
}

/** Deletes what a change of keys left behind, if one did. */
export async function tidy(store: Store): Promise<void> {
  let note = await readKeyNote(store)
  if (note?.untidy !== true) return
  for (const namespace of await listNamespaces(store)) {
    const unknown = await listUnknown(store, namespace)
    // With the note, so that a change of keys that is under way loses nothing it has written: one of the two begins again.
    note = await tryWrite(store, note, unknown)
    if (note === undefined) return
  }
  await tryWrite(store, { ...note, untidy: false })
}

/** The records of a namespace that are not done, for the other key, and the head to go over to; undefined: it has no secrets. */
async function encryptAnew(
  { store, from, to }: KeyChange,
  namespace: string,
  done: Map<string, number>,
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
    // Gone meanwhile, it has left the head, too: nothing will be put over.
    if (newKey === key || source === undefined || done.get(name) === source) continue
    const found = await store.read(table, key)
    if (found === undefined) continue
    const anew = mapLeaves(parseStored(Buffer.from(found.value).toString()), ({ names, leaf }) => {
      if (!leaf.secret) return leaf
      const text = open(names, leaf.text)
      return { text: to.seal(namespace, formatPath(names), text), secret: true }
    })
    copies.push({ table, key: newKey, value: Buffer.from(formatStored(anew)) })
    done.set(name, source)
  }
  const write = { table, key: HEAD, value: formatHead(newHead), ifVersion: record.version }
  return { head: write, copies }
}

/** Deletions of the records no head knows. */
async function listUnknown(store: Store, namespace: string): Promise<StoreWrite[]> {
  const table = toTable(namespace)
  const { records } = await store.list(table, { keysOnly: true })
  // Read after the list: what a head does not know by then it never will.
  const record = await store.read(table, HEAD)
  const known = new Set([HEAD, KEY_NOTE.key, ...(record ? toKeys(parseHead(record)) : [])])
  return records.filter(({ key }) => !known.has(key)).map(({ key }) => ({ table, key }))
}

async function listNamespaces(store: Store): Promise<string[]> {
  const tables = await store.listTables()
  return tables.filter(({ table }) => table === TABLE).map(({ database }) => database)
}

/** Writes a note over the one of its version, and more with it. @returns it as it is stored; undefined: somebody else was faster. */
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
