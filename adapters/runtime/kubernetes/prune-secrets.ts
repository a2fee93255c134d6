import type { Calls } from './calls.ts'
import { SECRETS } from './drift.ts'
import { WORKLOAD_LABEL } from './names.ts'
import type { NamespaceState } from './namespace-state.ts'

/** Deletes the Secrets of earlier revisions. */
export interface SecretPruner {
  /**
   * Deletes the unused Secrets of a workload. Other Secrets, except `current`, are deleted once
   * their last pod is gone.
   */
  readonly prune: (id: string, current: string) => Promise<void>
  readonly removeAll: (id: string) => Promise<void>
}

export function createSecretPruner(space: NamespaceState, calls: Calls): SecretPruner {
  /** Functions that end the wait for instances of earlier revisions, by workload. */
  const waits = new Map<string, () => void>()

  async function list(id: string): Promise<string[]> {
    const found = await calls.list(SECRETS, `${WORKLOAD_LABEL}=${id}`)
    return found.map(({ metadata }) => metadata.name)
  }

  function stop(id: string): void {
    waits.get(id)?.()
    waits.delete(id)
  }

  const isRead = (id: string, secret: string): boolean =>
    space.listPods(id).some((pod) => pod.secret === secret)

  return {
    async prune(id, current) {
      stop(id)
      const old = new Set((await list(id)).filter((name) => name !== current))
      for (const name of old)
        if (!isRead(id, name)) {
          await calls.remove(SECRETS, name)
          old.delete(name)
        }
      const unwatch = space.onChange(id, () => {
        for (const name of old)
          if (!isRead(id, name)) {
            old.delete(name)
            // If the deletion of a Secret fails, it is retried at the next change.
            calls.remove(SECRETS, name).catch(() => {})
          }
        if (old.size === 0) stop(id)
      })
      if (old.size === 0) unwatch()
      else waits.set(id, unwatch)
    },

    async removeAll(id) {
      stop(id)
      for (const name of await list(id)) await calls.remove(SECRETS, name)
    },
  }
}
