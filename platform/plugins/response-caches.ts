import type {
  OpenCache,
  ResponseCache,
  ResponseCaches,
} from '../../core/contracts/response-caches.ts'

interface SharedCache {
  readonly cache: ResponseCache
  users: number
}

/** Creates the response caches of a process. Caches with equal ids are shared, also across reloads. */
export function createResponseCaches(): ResponseCaches {
  const caches = new Map<string, SharedCache>()

  function release(id: string): void {
    const shared = caches.get(id)
    if (shared === undefined || --shared.users > 0) return
    caches.delete(id)
    shared.cache.close()
  }

  return {
    open<T extends ResponseCache>(id: string, create: () => T): OpenCache<T> {
      const shared = caches.get(id) ?? { cache: create(), users: 0 }
      shared.users++
      caches.set(id, shared)
      let isOpen = true
      return {
        cache: shared.cache as T,
        release() {
          if (isOpen) release(id)
          isOpen = false
        },
      }
    },

    purge(selection) {
      let removed = 0
      for (const { cache } of caches.values()) removed += cache.purge(selection)
      return removed
    },
  }
}
