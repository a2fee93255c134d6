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
import { AUTH_TABLE, KEYS_PREFIX, type KeyRecord, parseKeyRecord, toKeyKey } from '../records.ts'

/** Encrypts private keys, bound to the path at which they are stored. */
export interface KeySealer {
  /** Id of the encryption key. */
  readonly id: string
  readonly seal: (namespace: string, path: string, text: string) => string
  /** Returns undefined if the text was encrypted with another key or for another path. */
  readonly open: (namespace: string, path: string, sealed: string) => string | undefined
}

export interface SigningKeysOptions {
  readonly store: Store
  /** @default private keys are stored unencrypted */
  readonly sealer?: KeySealer
  /**
   * Fixed signing key, which is never stored or rotated.
   *
   * @default key pairs are generated and rotated
   */
  readonly privateKey?: KeyObject
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
  readonly onWarning: (message: string) => void
  /**
   * Called with the id of each key that starts to sign without a request: the first key, a
   * configured key, and the replacement of an expired key.
   *
   * @default no-op
   */
  readonly onReplaced?: (id: string) => void
}

/** Key pairs that sign tokens, shared by all servers of a store. */
export interface SigningKeys {
  readonly current: () => SigningKey
  /** Returns the verification keys by id. Each change creates a new map. */
  readonly all: () => ReadonlyMap<string, KeyObject>
  /**
   * Rotates the signing key. Previous keys still verify their tokens.
   *
   * @param drop whether to remove previous keys immediately.
   * @returns the id of the new key.
   * @throws {GatewayError} 409 if the key is configured.
   */
  readonly rotate: (drop: boolean, errorId: string) => Promise<string>
  /** Calls `listener` after each change of {@link all} until the returned function is called. */
  readonly onChange: (listener: () => void) => () => void
  readonly close: () => void
}

/** Lifetime of a generated signing key. */
const LIFE_MS = 90 * 24 * 3600 * 1000
const CHECK_MS = 3600 * 1000
/** Delay before a new key is used for signing, so that all servers have received it. */
const AHEAD_MS = 2000
/** Retention of a verification key after it has stopped signing. */
const BEHIND_MS: number = (TOKEN_LIFE_MAX_S + 2 * SKEW_S) * 1000 + AHEAD_MS

/** Maximum number of attempts under contention. */
const ATTEMPTS_MAX = 10
// The sealed key is not bound to a namespace, so it cannot be opened in any namespace.
const NO_NAMESPACE = ''

interface StoredKey {
  readonly record: KeyRecord
  readonly version: number
  /** Time of deletion; 0 if the key may sign. */
  readonly expiresMs: number
  readonly publicKey: KeyObject
  /** Undefined if not available on this server. */
  readonly privateKey: KeyObject | undefined
}

/**
 * Opens the key pairs of a store, and generates one if none can be used for signing.
 *
 * @throws {GatewayError} 503 if the store is unavailable.
 */
export async function openSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { store, sealer, privateKey, nowMs, onWarning, onReplaced = () => {} } = options
  const configured = privateKey === undefined ? undefined : toConfigured(privateKey)
  const stored = new Map<string, StoredKey>()
  const listeners = new Set<() => void>()
  let publicKeys: ReadonlyMap<string, KeyObject> = new Map()
  // The last signing key remains in use until this server has another one.
  let last: SigningKey | undefined
  let hasWarned = false

  function toPrivate(record: KeyRecord): KeyObject | undefined {
    if (record.privateKey === '') return undefined
    const text =
      record.sealedWith === ''
        ? record.privateKey
        : sealer?.open(NO_NAMESPACE, toKeyKey(record.id), record.privateKey)
    if (text === undefined) return undefined
    return createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' })
  }

  const watched = await watchRecords({
    store,
    table: AUTH_TABLE,
    prefix: KEYS_PREFIX,
    onError: (error) => onWarning(`reading signing keys failed: ${String(error)}`),
    onRecords(records, isAll) {
      if (isAll) stored.clear()
      for (const [key, record] of records) {
        if (record === undefined) {
          stored.delete(key)
          continue
        }
        const { version, expiresMs } = record
        const content = parseKeyRecord(record)
        const spki = Buffer.from(content.publicKey, 'base64')
        stored.set(key, {
          ...{ record: content, version, expiresMs },
          publicKey: createPublicKey({ key: spki, format: 'der', type: 'spki' }),
          privateKey: toPrivate(content),
        })
      }
      const publicKeyMap = new Map(
        [...stored.values()].map((entry) => [entry.record.id, entry.publicKey]),
      )
      // Changes to the signing status and expiry do not affect verification.
      if (isSame(publicKeyMap, publicKeys)) return
      publicKeys = publicKeyMap
      for (const listener of listeners) listener()
    },
  })

  /** Returns the keys that this server can sign with, newest first. */
  function listSigning(): readonly StoredKey[] {
    return [...stored.values()]
      .filter(({ expiresMs, privateKey }) => expiresMs === 0 && privateKey !== undefined)
      .sort(({ record: a }, { record: b }) => b.from - a.from || (a.id < b.id ? -1 : 1))
  }

  function current(): SigningKey {
    if (configured !== undefined) return configured
    const signing = listSigning()
    const isKnown = last !== undefined && stored.has(toKeyKey(last.id))
    // Until a new key starts to sign, the previous one remains in use, if there is one.
    const key =
      signing.find(({ record }) => record.from <= nowMs()) ?? (isKnown ? undefined : signing.at(-1))
    if (key !== undefined) last = { id: key.record.id, privateKey: key.privateKey! }
    if (last === undefined) throw unavailable('auth', 'no signing key is available')
    if (signing.length === 0 && !hasWarned) {
      hasWarned = true
      onWarning(
        'another server replaced the signing key, and this server cannot read the new key; all servers of a store need the same MX_CONFIG_SECRET_KEY or MX_AUTH_PRIVATE_KEY',
      )
    }
    return last
  }

  /**
   * Stores a key. Existing keys expire after their tokens have expired, or immediately.
   *
   * @returns false on a version conflict.
   */
  async function add(record: KeyRecord, drop: boolean): Promise<boolean> {
    const key = toKeyKey(record.id)
    const ifVersion = stored.get(key)?.version ?? 0
    const writes: StoreWrite[] = [
      { table: AUTH_TABLE, key, value: encodeRecord(record), ifVersion },
    ]
    for (const [key, { version, expiresMs, record: other }] of stored) {
      if (other.id === record.id) continue
      const condition = { table: AUTH_TABLE, key, ifVersion: version }
      if (drop) writes.push(condition)
      else if (expiresMs === 0)
        writes.push({ ...condition, value: encodeRecord(other), expiresMs: nowMs() + BEHIND_MS })
    }
    const versions = await commitIf(store, writes)
    await watched.refresh()
    return versions !== undefined
  }

  function generate(from: number): KeyRecord {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const id = nameKey(publicKey)
    const text = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64')
    return {
      id,
      publicKey: toText(publicKey),
      privateKey: sealer === undefined ? text : sealer.seal(NO_NAMESPACE, toKeyKey(id), text),
      sealedWith: sealer?.id ?? '',
      from,
    }
  }

  /** Ensures that this server has a key, even if other servers start concurrently. */
  async function begin(): Promise<void> {
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const hasKey =
        configured === undefined
          ? listSigning().length > 0
          : stored.get(toKeyKey(configured.id))?.expiresMs === 0
      if (hasKey) return
      const record = configured === undefined ? generate(nowMs()) : toRecord(configured, nowMs())
      if (await add(record, false)) return onReplaced(record.id)
    }
    throw unavailable('auth', 'too many servers are creating signing keys concurrently')
  }

  async function rotate(drop: boolean, errorId: string): Promise<string> {
    if (configured !== undefined)
      throw conflict(errorId, 'the signing key is set by MX_AUTH_PRIVATE_KEY: change it there')
    for (let i = 0; i < ATTEMPTS_MAX; i++) {
      const record = generate(drop ? nowMs() : nowMs() + AHEAD_MS)
      if (await add(record, drop)) return record.id
    }
    throw unavailable(errorId, 'the signing keys are changing concurrently, try again')
  }

  /** Replaces an expired key unless another server has already done so. */
  function replaceOld(): void {
    const newest = listSigning()[0]
    if (configured !== undefined || newest === undefined || newest.record.from > nowMs() - LIFE_MS)
      return
    const record = generate(nowMs() + AHEAD_MS)
    add(record, false).then(
      (isAdded) => isAdded && onReplaced(record.id),
      (error: unknown) => onWarning(`replacing the expired signing key failed: ${String(error)}`),
    )
  }

  try {
    if (sealer === undefined && configured === undefined)
      onWarning(
        'signing keys are stored unencrypted: set MX_CONFIG_SECRET_KEY to encrypt them, or MX_AUTH_PRIVATE_KEY',
      )
    await begin()
    // Sets `last`, because this key signs until a key concurrently added by another server becomes
    // valid.
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

function toConfigured(privateKey: KeyObject) {
  const publicKey = createPublicKey(privateKey)
  return { id: nameKey(publicKey), privateKey, publicKey: toText(publicKey) }
}

function toRecord({ id, publicKey }: ReturnType<typeof toConfigured>, from: number): KeyRecord {
  return { id, publicKey, privateKey: '', sealedWith: '', from }
}

function isSame(a: ReadonlyMap<string, KeyObject>, b: ReadonlyMap<string, KeyObject>): boolean {
  return a.size === b.size && [...a.keys()].every((id) => b.has(id))
}

function toText(publicKey: KeyObject): string {
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
}
