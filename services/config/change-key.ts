import { GatewayError } from '../../core/errors.ts'
import type { Store, StoreWrite } from '../../core/store/store.ts'
import { formatPath } from './path.ts'
import {
  formatHead,
  formatKeyNote,
  HEAD,
  KEY_NOTE,
  type KeyNote,
  parseHead,
  parseKeyNote,
  TABLE,
  toTable,
  toVersionKey,
  VERSIONS,
  type VersionEntry,
} from './records.ts'
import { createSealer } from './sealer.ts'
import type { SecretKey } from './secret-key.ts'
import { readTree } from './snapshots.ts'
import { mapLeaves } from './tree.ts'
import { formatStored } from './tree-text.ts'

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

/** Namespaces may change meanwhile: then everything is done again. */
const MAX_ATTEMPTS = 10

/** Which key the secrets of a store are encrypted with; undefined: there never were any. */
export async function readKeyNote(store: Store): Promise<StoredKeyNote | undefined> {
  const record = await store.read(KEY_NOTE.table, KEY_NOTE.key)
  return record && { ...parseKeyNote(record), version: record.version }
}

/**
 * Encrypts all secrets of all namespaces with another key, all or nothing: versions are written anew beside those there are,
 * then one commit puts all heads over to them, and at last the old ones are deleted.
 *
 * @throws {Error} when `from` is not the key of the store, or a secret cannot be decrypted: then everything is as before.
 */
export async function changeSecretKey({ store, from, to }: KeyChange): Promise<void> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    const note = await readKeyNote(store)
    if (note === undefined || note.keyId === to.id) return tidy(store)
    if (note.keyId !== from.id)
      throw new Error('the secrets of the configuration are not encrypted with the key to change')
    const begun = await tryWrite(store, { ...note, untidy: true })
    if (begun === undefined) continue
    const heads: StoreWrite[] = []
    for (const namespace of await listNamespaces(store)) {
      const head = await encryptAnew({ store, from, to }, namespace)
      if (head !== undefined) heads.push(head)
    }
    if ((await tryWrite(store, { ...begun, keyId: to.id }, heads)) !== undefined) return tidy(store)
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

/** Writes the versions of a namespace for the other key. @returns the head to go over to; undefined: it has no secrets. */
async function encryptAnew(
  { store, from, to }: KeyChange,
  namespace: string,
): Promise<StoreWrite | undefined> {
  const table = toTable(namespace)
  const record = await store.read(table, HEAD)
  const head = record && parseHead(record)
  if (record === undefined || head?.keyId === undefined) return undefined
  const old = createSealer({ namespace, secretKey: from, keyId: head.keyId, id: 'config' })
  const versions: VersionEntry[] = []
  for (const entry of head.versions) {
    const tree = entry.keyId === undefined ? undefined : await readTree(store, namespace, entry)
    if (tree === undefined) {
      // Without secrets, or gone meanwhile: then the head is another one, too, and nothing is put over.
      versions.push(entry)
      continue
    }
    const anew = mapLeaves(tree, ({ names, leaf }) => {
      if (!leaf.secret) return leaf
      const text = old.open(names, leaf.text)
      return { text: to.seal(namespace, formatPath(names), text), secret: true }
    })
    const next = { ...entry, keyId: to.id }
    const value = Buffer.from(formatStored(anew))
    await store.commit([{ table, key: toVersionKey(next), value }])
    versions.push(next)
  }
  const value = formatHead({ keyId: to.id, versions })
  return { table, key: HEAD, value, ifVersion: record.version }
}

/** Deletions of the versions no head knows. */
async function listUnknown(store: Store, namespace: string): Promise<StoreWrite[]> {
  const table = toTable(namespace)
  const { records } = await store.list(table, { prefix: VERSIONS, keysOnly: true })
  // Read after the list: what a head does not know by then it never will.
  const record = await store.read(table, HEAD)
  const known = new Set(record && parseHead(record).versions.map(toVersionKey))
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
  try {
    const { keyId, untidy } = note
    const value = formatKeyNote({ keyId, untidy })
    const [version] = await store.commit([{ ...KEY_NOTE, value, ifVersion }, ...more])
    return { keyId, untidy, version: version! }
  } catch (error) {
    if (error instanceof GatewayError && error.code === 409) return undefined
    throw error
  }
}
