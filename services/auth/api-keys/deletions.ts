import type { Store, StoreWrite } from '../../../domain/store/store.ts'
import { AUTH_TABLE, toApiKeyOwnerKey, toApiKeysPrefix } from '../records.ts'

/** Returns the writes that delete all API keys of an account. Their sessions are revoked with the account. */
export async function listApiKeyDeletions(
  store: Store,
  namespace: string,
  account: string,
): Promise<readonly StoreWrite[]> {
  const prefix = toApiKeysPrefix(namespace, account)
  const { records } = await store.list(AUTH_TABLE, { prefix, keysOnly: true })
  const ids = records.map(({ key }) => key.slice(prefix.length))
  return deleteApiKeys(namespace, account, ids)
}

/** Returns the writes that delete API keys of an account. */
export function deleteApiKeys(
  namespace: string,
  account: string,
  ids: readonly string[],
): readonly StoreWrite[] {
  return ids.flatMap((id) => [
    { table: AUTH_TABLE, key: `${toApiKeysPrefix(namespace, account)}${id}` },
    { table: AUTH_TABLE, key: toApiKeyOwnerKey(id) },
  ])
}
