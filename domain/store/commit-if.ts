import { GatewayError } from '../../core/errors.ts'
import type { Store, StoreWrite } from './store.ts'

/** Commits conditional changes like the store's `commit`. Returns undefined on a conflict. */
export async function commitIf(
  store: Store,
  writes: readonly StoreWrite[],
): Promise<readonly number[] | undefined> {
  try {
    return await store.commit(writes)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 409) return undefined
    throw error
  }
}
