import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { Cluster } from '../../kubernetes/cluster.ts'
import { createMirror } from '../../kubernetes/informer.ts'
import type { Resource } from '../../kubernetes/resource.ts'
import { SELECTOR, toWorkloadId } from './names.ts'
import type { Deployment } from './objects.ts'

export const SERVICES: Resource = { name: 'services', group: '' }
export const SECRETS: Resource = { name: 'secrets', group: '' }

/** Applied objects of a workload. */
export interface Expected {
  readonly key: WorkloadKey
  readonly revision: string
  /** Name of the workload's Secret. */
  readonly secret: string
  /** Generation of the workload's Deployment; undefined until it is applied. */
  generation?: number
}

export interface DriftOptions {
  /** Returns the cluster with the namespace to watch. */
  readonly findCluster: () => Promise<Cluster>
  /**
   * Called when another client has deleted an object of a workload or changed the revision of its
   * Deployment.
   */
  readonly onDrift: (key: WorkloadKey) => void
  readonly onOutage: (reason: Error | undefined) => void
}

/** Detects changes to applied objects by other clients. */
export interface Drift {
  readonly expect: (id: string, expected: Expected) => void
  readonly forget: (id: string) => void
  /** Compares a changed Deployment; undefined if it was deleted. */
  readonly compare: (id: string, deployment: Deployment | undefined) => void
  readonly close: () => void
}

/** Reads only the metadata of Services and Secrets, not the credentials. */
export function createDrift({ findCluster, onDrift, onOutage }: DriftOptions): Drift {
  const expected = new Map<string, Expected>()
  const mirror = createMirror({ name: 'the Kubernetes runtime', findCluster, onOutage })

  watchNames(SERVICES, (name) => {
    const objects = expected.get(name)
    if (objects !== undefined) onDrift(objects.key)
  })
  watchNames(SECRETS, (name) => {
    const objects = expected.get(toWorkloadId(name))
    if (objects?.secret === name) onDrift(objects.key)
  })

  function watchNames(resource: Resource, onDeleted: (name: string) => void): void {
    const names = new Set<string>()
    mirror.add({
      ...{ resource, selector: SELECTOR, isMetadataOnly: true, toItem: () => true },
      onList(items) {
        const deleted = [...names].filter((name) => !items.has(name))
        names.clear()
        for (const name of items.keys()) names.add(name)
        deleted.forEach(onDeleted)
      },
      onChanges(changes) {
        for (const { name, item } of changes) {
          if (item !== undefined) names.add(name)
          else if (names.delete(name)) onDeleted(name)
        }
      },
    })
  }

  return {
    expect(id, objects) {
      mirror.start()
      expected.set(id, objects)
    },

    forget: (id) => void expected.delete(id),

    compare(id, deployment) {
      const objects = expected.get(id)
      if (objects?.generation === undefined) return
      const isDrifted =
        deployment === undefined ||
        (deployment.generation > objects.generation && deployment.revision !== objects.revision)
      if (isDrifted) onDrift(objects.key)
    },

    close: mirror.close,
  }
}
