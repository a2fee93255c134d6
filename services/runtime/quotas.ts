import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { type Quota, quotaReached } from '../../core/limits/quota.ts'
import { isUnderWay, needsBuild, type ServiceRecord, toObjectKey } from './state/records.ts'

/** What a namespace may have of the runtime. */
export interface RuntimeQuotas {
  readonly programs: Quota
  /** In progress or waiting. */
  readonly builds: Quota
  /** In progress, or waiting to be run. */
  readonly uploads: Quota
}

/** Keeps namespaces within their quotas. */
export interface Admission {
  /**
   * Admits what is asked for of an object, and the object where it is new.
   *
   * @param isBuild whether it is built, as of `needsBuild`.
   * @returns to be called once the record says so, or nothing came of it.
   * @throws {GatewayError} 429 naming the quota.
   */
  readonly admit: (key: WorkloadKey, isBuild: boolean, errorId: string) => () => void
}

/** @param records all objects, as they are known. */
export function createAdmission(
  { programs, builds }: Pick<RuntimeQuotas, 'programs' | 'builds'>,
  records: ReadonlyMap<string, ServiceRecord>,
): Admission {
  /** Admitted, and not yet among the records: several come at once. */
  const admitted = new Map<symbol, { readonly key: WorkloadKey; readonly isBuild: boolean }>()

  /** The other objects of a namespace that are there, or being built. */
  function listOthers(namespace: string, own: string): { all: Set<string>; building: Set<string> } {
    const all = new Set<string>()
    const building = new Set<string>()
    for (const [key, record] of records) {
      if (record.namespace !== namespace || key === own) continue
      all.add(key)
      if (isUnderWay(record) && needsBuild(record) && !record.deleting) building.add(key)
    }
    for (const one of admitted.values()) {
      const key = toObjectKey(one.key)
      if (one.key.namespace !== namespace || key === own) continue
      all.add(key)
      if (one.isBuild) building.add(key)
    }
    return { all, building }
  }

  return {
    admit(key, isBuild, errorId) {
      const { namespace } = key
      const own = toObjectKey(key)
      const [most, mostBuilds] = [programs.limitOf(namespace), builds.limitOf(namespace)]
      if (most !== Number.POSITIVE_INFINITY || mostBuilds !== Number.POSITIVE_INFINITY) {
        const { all, building } = listOthers(namespace, own)
        if (!records.has(own) && all.size >= most)
          throw quotaReached(errorId, 429, programs, {
            ...{ namespace, limit: `${most} programs`, used: `${all.size}` },
            remedy: 'remove programs',
          })
        if (isBuild && building.size >= mostBuilds)
          throw quotaReached(errorId, 429, builds, {
            ...{ namespace, limit: `${mostBuilds} builds`, used: `${building.size}` },
            remedy: 'try again once a build has ended',
          })
      }
      const id = Symbol()
      admitted.set(id, { key, isBuild })
      return () => admitted.delete(id)
    },
  }
}
