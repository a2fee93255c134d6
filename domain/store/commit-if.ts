import { GatewayError } from '../../core/errors.ts'
import type { Store, StoreWrite } from './store.ts'

/** As the store's `commit`, for changes with conditions. Undefined: one does not hold, somebody else was faster. */
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
