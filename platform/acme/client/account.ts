import { generateKeyPairSync } from 'node:crypto'
import { commitIf } from '../../../domain/store/commit-if.ts'
import { encodeRecord } from '../../../domain/store/json-record.ts'
import type { Store } from '../../../domain/store/store.ts'
import {
  openKey,
  parseAccountRecord,
  type SecretKeys,
  sealingId,
  sealKey,
  TABLE,
  toAccountKey,
} from '../records.ts'

/**
 * The key of the account all gateways of a store have at a directory; made by the first.
 *
 * @returns PEM.
 * @throws {GatewayError} 503 when the store cannot be reached.
 */
export async function readAccountKey(
  store: Store,
  scope: string,
  secretKeys: SecretKeys,
): Promise<string> {
  const place = toAccountKey(scope, sealingId(secretKeys))
  for (;;) {
    const record = await store.read(TABLE, place)
    const kept = record && openKey(secretKeys, place, parseAccountRecord(record))
    if (kept !== undefined) return kept
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const value = encodeRecord(sealKey(secretKeys, place, key))
    const ifVersion = record?.version ?? 0
    if (await commitIf(store, [{ table: TABLE, key: place, value, ifVersion }])) return key
  }
}
