import { generateKeyPairSync } from 'node:crypto'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import {
  ACME_TABLE,
  openKey,
  parseAcmeAccount,
  type SecretKeys,
  sealingId,
  sealKey,
  toAcmeAccountKey,
} from '../records.ts'

/**
 * Reads or creates the account key, which all gateways of a store share.
 *
 * @returns PEM.
 * @throws {GatewayError} 503 if the store is unreachable.
 */
export async function readAccountKey(
  store: Store,
  scope: string,
  secretKeys: SecretKeys,
): Promise<string> {
  const recordKey = toAcmeAccountKey(scope, sealingId(secretKeys))
  for (;;) {
    const record = await store.read(ACME_TABLE, recordKey)
    const stored = record && openKey(secretKeys, recordKey, parseAcmeAccount(record))
    if (stored !== undefined) return stored
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const value = encodeRecord(sealKey(secretKeys, recordKey, key))
    const ifVersion = record?.version ?? 0
    if (await commitIf(store, [{ table: ACME_TABLE, key: recordKey, value, ifVersion }])) return key
  }
}
