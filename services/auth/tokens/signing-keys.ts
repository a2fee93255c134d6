import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  nameKey,
  type SigningKey,
  SKEW_S,
  TOKEN_LIFE_MAX_S,
} from '../../../core/auth/token/access-token.ts'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import { watchRecords } from '../../../domain/store/watch-records.ts'
import { conflict, unavailable } from '../../../sdk/errors.ts'
import { KEYS_PREFIX, type KeyRecord, parseKeyRecord, TABLE, toKeyKey } from '../records.ts'

/** Encrypts private keys for where they are kept. */
export interface KeySealer {
  /** Of what it encrypts with. */
  readonly id: string
  readonly seal: (namespace: string, path: string, text: string) => string
  /** Undefined: it was encrypted with something else, or for somewhere else. */
  readonly open: (namespace: string, path: string, sealed: string) => string | undefined
}

export interface SigningKeysOptions {
  readonly store: Store
  /** @default private keys are kept as they are */
  readonly sealer?: KeySealer
  /** Signs, and is kept nowhere; no other one is made. @default pairs are made, and change */
  readonly privateKey?: KeyObject
  /** Unix time. */
  readonly nowMs: () => number
  readonly onWarning: (message: string) => void
  /** Told of each key, by its id, that signs from now on and nobody asked for: the first one, a given one, and one that replaces an old one. @default nobody */
  readonly onReplaced?: (id: string) => void
}

/** The pairs of keys that tokens are signed with, of all servers of a store. */
export interface SigningKeys {
  /** What signs now. */
  readonly current: () => SigningKey
  /** What proves tokens, by id; another one after each change. */
  readonly all: () => ReadonlyMap<string, KeyObject>
  /**
   * Has tokens signed by a new pair of keys. The others still prove those they signed.
   *
   * @param drop the others prove nothing any more, at once.
   * @returns its id.
   * @throws {GatewayError} 409 when the key was given.
   */
  readonly rotate: (drop: boolean, errorId: string) => Promise<string>
  /** Called after each change of {@link all}. Returns what ends that. */
  readonly onChange: (listener: () => void) => () => void
  readonly close: () => void
}

/** Of the keys that are made here. */
const LIFE_MS = 90 * 24 * 3600 * 1000
const CHECK_MS = 3600 * 1000
/** All servers know a key for so long before it signs. */
const AHEAD_MS = 2000
/** What proves tokens is kept for so long after it has signed. */
const BEHIND_MS: number = (TOKEN_LIFE_MAX_S + 2 * SKEW_S) * 1000 + AHEAD_MS

/** Of changes that others come before each time. */
const ATTEMPTS_MAX = 10
/** What is sealed for no namespace is nothing in any. */
const NOWHERE = ''

interface Kept {
  readonly record: KeyRecord
  readonly version: number
  /** When it is forgotten; 0: it may sign. */
  readonly expiresMs: number
  readonly publicKey: KeyObject
  /** Undefined: this server does not have it. */
  readonly privateKey: KeyObject | undefined
}

/**
 * Opens the pairs of keys in a store, and makes one where there is none that signs.
 *
 * @throws {GatewayError} 503 when the store cannot be reached.
 */
export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { store, sealer, privateKey, nowMs, onWarning, onReplaced = () => {} } = options
  const given = privateKey === undefined ? undefined : toGiven(privateKey)
  const kept = new Map<string, Kept>()
  const listeners = new Set<() => void>()
  let publicKeys: ReadonlyMap<string, KeyObject> = new Map()
  /** The last that signed: goes on until this server has another. */
  let last: SigningKey | undefined
  let hasWarned = false

  function toPrivate(record: KeyRecord): KeyObject | undefined {
    if (record.privateKey === '') return undefined
    const text =
      record.sealedWith === ''
        ? record.privateKey
        : sealer?.open(NOWHERE, toKeyKey(record.id), record.privateKey)
    if (text === undefined) return undefined
    return createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' })
  }

  const watched = await watchRecords({
    store,
    table: TABLE,
    prefix: KEYS_PREFIX,
    onError: (error) => onWarning(`keys of tokens cannot be read: ${String(error)}`),
    onRecords(records, isAll) {
      if (isAll) kept.clear()
      for (const [key, record] of records) {
        if (record === undefined) {
          kept.delete(key)
          continue
        }
        const { version, expiresMs } = record
        const content = parseKeyRecord(record)
        const spki = Buffer.from(content.publicKey, 'base64')
        kept.set(key, {
          ...{ record: content, version, expiresMs },
          publicKey: createPublicKey({ key: spki, format: 'der', type: 'spki' }),
          privateKey: toPrivate(content),
        })
      }
      const found = new Map([...kept.values()].map((one) => [one.record.id, one.publicKey]))
      // That one may sign, or is to be forgotten, is news to this server alone.
      if (isSame(found, publicKeys)) return
      publicKeys = found
      for (const listener of listeners) listener()
    },
  })

  /** Those that this server may sign with, the newest first. */
  function findOwn(): readonly Kept[] {
    return [...kept.values()]
      .filter(({ expiresMs, privateKey }) => expiresMs === 0 && privateKey !== undefined)
      .sort(({ record: a }, { record: b }) => b.from - a.from || (a.id < b.id ? -1 : 1))
  }

  function current(): SigningKey {
    if (given !== undefined) return given
    const own = findOwn()
    const isKnown = last !== undefined && kept.has(toKeyKey(last.id))
    // Before the time of a new one, that before goes on; there may be none.
    const key =
      own.find(({ record }) => record.from <= nowMs()) ?? (isKnown ? undefined : own.at(-1))
    if (key !== undefined) last = { id: key.record.id, privateKey: key.privateKey! }
    if (last === undefined) throw unavailable('auth', 'there is no key to sign tokens with')
    if (own.length === 0 && !hasWarned) {
      hasWarned = true
      onWarning(
        'another server of this store has replaced the key that tokens are signed with by one this server cannot read: all must have the same MX_CONFIG_SECRET_KEY or MX_AUTH_PRIVATE_KEY',
      )
    }
    return last
  }

  /**
   * Writes a key, and has those there were forgotten when what they signed has ended, or at once.
   *
   * @returns whether it did: false when others changed them meanwhile.
   */
  async function add(record: KeyRecord, drop: boolean): Promise<boolean> {
    const key = toKeyKey(record.id)
    const ifVersion = kept.get(key)?.version ?? 0
    const writes: StoreWrite[] = [{ table: TABLE, key, value: encodeRecord(record), ifVersion }]
    for (const [key, { version, expiresMs, record: other }] of kept) {
      if (other.id === record.id) continue
      const place = { table: TABLE, key, ifVersion: version }
      if (drop) writes.push(place)
      else if (expiresMs === 0)
        writes.push({ ...place, value: encodeRecord(other), expiresMs: nowMs() + BEHIND_MS })
    }
    const versions = await commitIf(store, writes)
    await watched.refresh()
    return versions !== undefined
  }

  function make(from: number): KeyRecord {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const id = nameKey(publicKey)
    const text = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')
    return {
      id,
      publicKey: toText(publicKey),
      privateKey: sealer === undefined ? text : sealer.seal(NOWHERE, toKeyKey(id), text),
      sealedWith: sealer?.id ?? '',
      from,
    }
  }

  /** There is a key of this server, whatever others do at the same time. */
  async function begin(): Promise<void> {
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const isThere =
        given === undefined ? findOwn().length > 0 : kept.get(toKeyKey(given.id))?.expiresMs === 0
      if (isThere) return
      const record = given === undefined ? make(nowMs()) : toRecord(given, nowMs())
      if (await add(record, false)) return onReplaced(record.id)
    }
    throw unavailable('auth', 'too many servers make keys at the same time')
  }

  async function rotate(drop: boolean, errorId: string): Promise<string> {
    if (given !== undefined)
      throw conflict(errorId, 'the key is the one of MX_AUTH_PRIVATE_KEY: give another there')
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const record = make(drop ? nowMs() : nowMs() + AHEAD_MS)
      if (await add(record, drop)) return record.id
    }
    throw unavailable(errorId, 'too many others change the keys, try again')
  }

  /** Others may do it first. */
  function replaceOld(): void {
    const newest = findOwn()[0]
    if (given !== undefined || newest === undefined || newest.record.from > nowMs() - LIFE_MS)
      return
    const record = make(nowMs() + AHEAD_MS)
    add(record, false).then(
      (isAdded) => isAdded && onReplaced(record.id),
      (error: unknown) =>
        onWarning(
          `the key that tokens are signed with is old, and cannot be replaced: ${String(error)}`,
        ),
    )
  }

  try {
    if (sealer === undefined && given === undefined)
      onWarning(
        'the keys that tokens are signed with are kept in the store as they are: set MX_CONFIG_SECRET_KEY to encrypt them, or MX_AUTH_PRIVATE_KEY',
      )
    await begin()
    // It is the one before, should others make one before this server has signed anything.
    current()
    replaceOld()
  } catch (error) {
    watched.close()
    throw error
  }
  const timer = setInterval(replaceOld, CHECK_MS).unref()
  return {
    current,
    all: () => publicKeys,
    rotate,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close() {
      clearInterval(timer)
      watched.close()
    },
  }
}

function toGiven(privateKey: KeyObject) {
  const publicKey = createPublicKey(privateKey)
  return { id: nameKey(publicKey), privateKey, publicKey: toText(publicKey) }
}

function toRecord({ id, publicKey }: ReturnType<typeof toGiven>, from: number): KeyRecord {
  return { id, publicKey, privateKey: '', sealedWith: '', from }
}

function isSame(a: ReadonlyMap<string, KeyObject>, b: ReadonlyMap<string, KeyObject>): boolean {
  return a.size === b.size && [...a.keys()].every((id) => b.has(id))
}

function toText(publicKey: KeyObject): string {
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}
