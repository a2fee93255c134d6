import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { ACME_TABLE, parseTokenRecord, type SecretKeys, toTokenKey } from '../records.ts'
import { readAccountKey } from './account.ts'
import { AcmeError } from './acme-error.ts'
import {
  type AcmeClient,
  type AcmeClientOptions,
  type Issued,
  openAcmeClient,
  type RenewalWindow,
} from './client.ts'

export interface DirectoryOptions extends Omit<AcmeClientOptions, 'accountKey'> {
  readonly store: Store
  readonly scope: string
  readonly secretKeys: SecretKeys
}

/**
 * ACME server with an account shared by all gateways of a store. Each gateway can respond to the
 * challenges of the others.
 */
export interface Directory {
  /** @param replaces see {@link AcmeOrder}. @throws {AcmeError} */
  readonly issue: (host: string, replaces: string | undefined) => Promise<Issued>
  /** @throws {AcmeError} */
  readonly readWindow: (certificateId: string) => Promise<RenewalWindow | undefined>
  /**
   * Returns the key authorization of a challenge token (RFC 8555 §8.3).
   *
   * @throws {GatewayError} 503 if the store is unavailable.
   */
  readonly findToken: (token: string) => Promise<string | undefined>
}

/** RFC 8555 §6.7 */
const NO_ACCOUNT = /^(?:accountDoesNotExist|unauthorized)/

/**
 * Lifetime of a token in the store, far longer than any order: a gateway with an incorrect clock
 * may consider the token expired earlier.
 */
const TOKEN_LIFE_MS = 7 * 24 * 3600 * 1000

/** Creates a directory that connects on the first call. */
export function createDirectory(options: DirectoryOptions): Directory {
  const { store, scope, secretKeys } = options
  let opening: Promise<AcmeClient> | undefined

  async function open(): Promise<AcmeClient> {
    return openAcmeClient({
      ...options,
      accountKey: await readAccountKey(store, scope, secretKeys),
    })
  }

  /**
   * Calls `work` with an open account. Reopens the account after errors that may mean that it no
   * longer exists.
   */
  async function use<T>(work: (client: AcmeClient) => Promise<T>): Promise<T> {
    opening ??= open()
    const current = opening
    try {
      return await work(await current)
    } catch (error) {
      const isReadable =
        error instanceof AcmeError && error.kind === 'rejected' && !NO_ACCOUNT.test(error.message)
      if (opening === current && !(isReadable && (await isOpen(current)))) opening = undefined
      throw error
    }
  }

  const tokens = {
    async putToken(token: string, keyAuthorization: string) {
      const value = encodeRecord({ keyAuthorization })
      const expiresMs = options.nowMs() + TOKEN_LIFE_MS
      await store.commit([{ table: ACME_TABLE, key: toTokenKey(token), value, expiresMs }])
    },
    async removeToken(token: string) {
      // Failures are ignored because the record expires anyway.
      await store.commit([{ table: ACME_TABLE, key: toTokenKey(token) }]).catch(() => {})
    },
  }

  return {
    issue: (host, replaces) => use((client) => client.issue({ host, replaces, ...tokens })),
    readWindow: (certificateId) => use((client) => client.readWindow(certificateId)),
    async findToken(token) {
      const record = await store.read(ACME_TABLE, toTokenKey(token))
      return record && parseTokenRecord(record).keyAuthorization
    },
  }
}

function isOpen(opening: Promise<AcmeClient>): Promise<boolean> {
  return opening.then(
    () => true,
    () => false,
  )
}
