import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { type Quota, quotaReached } from '../../core/limits/quota.ts'
import { isInProgress, needsBuild, type ServiceRecord, toObjectKey } from './state/records.ts'

/** Runtime quotas of a namespace. */
export interface RuntimeQuotas {
  readonly programs: Quota
  /** Builds that are running or queued. */
  readonly builds: Quota
  /** Uploads that are running or not deployed yet. */
  readonly uploads: Quota
}

/** Enforces the quotas of namespaces. */
export interface Admission {
  /**
   * Admits a request for an object, which may be new.
   *
   * @param isBuild whether the request needs a build, see `needsBuild`.
   * @returns a function that releases the reservation. It must be called once the record is written
   * or the request has failed.
   * @throws {GatewayError} 429 with the name of the quota.
   */
  readonly admit: (key: WorkloadKey, isBuild: boolean, errorId: string) => () => void
}

/** @param records all known objects. */
export function createAdmission(
  { programs, builds }: Pick<RuntimeQuotas, 'programs' | 'builds'>,
  records: ReadonlyMap<string, ServiceRecord>,
): Admission {
  /** Admitted requests whose record has not been written yet. Several may be concurrent. */
  const admitted = new Map<symbol, { readonly key: WorkloadKey; readonly isBuild: boolean }>()

  /** Returns other objects of a namespace, and objects being built. */
  function listOthers(
    namespace: string,
    ownKey: string,
  ): { all: Set<string>; building: Set<string> } {
    const all = new Set<string>()
    const building = new Set<string>()
    for (const [key, record] of records) {
      if (record.namespace !== namespace || key === ownKey) continue
      all.add(key)
      if (isInProgress(record) && needsBuild(record) && !record.deleting) building.add(key)
    }
    for (const request of admitted.values()) {
      const key = toObjectKey(request.key)
      if (request.key.namespace !== namespace || key === ownKey) continue
      all.add(key)
      if (request.isBuild) building.add(key)
    }
    return { all, building }
  }

  return {
    admit(key, isBuild, errorId) {
      const { namespace } = key
      const ownKey = toObjectKey(key)
      const [maxPrograms, maxBuilds] = [programs.limitOf(namespace), builds.limitOf(namespace)]
      if (maxPrograms !== Number.POSITIVE_INFINITY || maxBuilds !== Number.POSITIVE_INFINITY) {
        const { all, building } = listOthers(namespace, ownKey)
        if (!records.has(ownKey) && all.size >= maxPrograms)
          throw quotaReached(errorId, 429, programs, {
            ...{ namespace, limit: `${maxPrograms} programs`, used: `${all.size}` },
            remedy: 'delete programs',
          })
        if (isBuild && building.size >= maxBuilds)
          throw quotaReached(errorId, 429, builds, {
            ...{ namespace, limit: `${maxBuilds} builds`, used: `${building.size}` },
            remedy: 'retry after a build has ended',
          })
      }
      const id = Symbol()
      admitted.set(id, { key, isBuild })
      return () => admitted.delete(id)
    },
  }
}
