import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import { parseTokenRecord, type SecretKeys, TABLE, toTokenKey } from '../records.ts'
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

/** The ACME server as all gateways of a store use it: with one account, each answering the challenges of all. */
export interface Directory {
  /** @param replaces id of a certificate, as of {@link AcmeClient}. @throws {AcmeError} */
  readonly issue: (host: string, replaces: string | undefined) => Promise<Issued>
  /** @throws {AcmeError} */
  readonly readWindow: (certificateId: string) => Promise<RenewalWindow | undefined>
  /** What answers a challenge (RFC 8555 §8.3). @throws {GatewayError} 503 when the store is away. */
  readonly findToken: (token: string) => Promise<string | undefined>
}

/** RFC 8555 §6.7 */
const NO_ACCOUNT = /^(?:accountDoesNotExist|unauthorized)/

/** An order that was not done by then was given up. It is long for gateways whose clocks are wrong, which see its end sooner. */
const TOKEN_LIFE_MS = 7 * 24 * 3600 * 1000

/** Opens no connection before it is asked something. */
export function createDirectory(options: DirectoryOptions): Directory {
  const { store, scope, secretKeys } = options
  let opening: Promise<AcmeClient> | undefined

  async function open(): Promise<AcmeClient> {
    return openAcmeClient({
      ...options,
      accountKey: await readAccountKey(store, scope, secretKeys),
    })
  }

  /** With an account that is there: it is made sure of again when it may not be any more. */
  async function use<T>(work: (client: AcmeClient) => Promise<T>): Promise<T> {
    opening ??= open()
    const mine = opening
    try {
      return await work(await mine)
    } catch (error) {
      const isSure =
        error instanceof AcmeError && error.kind === 'refused' && !NO_ACCOUNT.test(error.message)
      if (opening === mine && !(isSure && (await isOpen(mine)))) opening = undefined
      throw error
    }
  }

  const tokens = {
    async putToken(token: string, keyAuthorization: string) {
      const value = encodeRecord({ keyAuthorization })
      const expiresMs = options.nowMs() + TOKEN_LIFE_MS
      await store.commit([{ table: TABLE, key: toTokenKey(token), value, expiresMs }])
    },
    async removeToken(token: string) {
      // It expires anyway.
      await store.commit([{ table: TABLE, key: toTokenKey(token) }]).catch(() => {})
    },
  }

  return {
    issue: (host, replaces) => use((client) => client.issue({ host, replaces, ...tokens })),
    readWindow: (certificateId) => use((client) => client.readWindow(certificateId)),
    async findToken(token) {
      const record = await store.read(TABLE, toTokenKey(token))
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
