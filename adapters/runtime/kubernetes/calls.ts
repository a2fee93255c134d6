import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../../kubernetes/cluster.ts'
import { type Attempt, explain, toRetryMs } from '../../kubernetes/failures.ts'
import { ApiError, type ApiRequest, readText, send } from '../../kubernetes/request.ts'
import { type Resource, toPath } from '../../kubernetes/resource.ts'

/** An object to be in a namespace: what it says is enforced, what it does not say stays as it is. */
export interface Manifest {
  readonly metadata?: { readonly name?: string }
}

/** An object as it was answered, as far as it is looked at. */
export interface Answered {
  readonly metadata: {
    readonly name: string
    readonly uid?: string
    readonly generation?: number
    readonly labels?: Readonly<Record<string, string>>
  }
}

/** Reads and writes objects of a namespace. What fails for a while is tried again for half a minute. */
export interface Calls {
  /** Creates or changes it (server-side apply); the object as it is then. */
  readonly apply: (resource: Resource, manifest: Manifest) => Promise<Answered>
  /**
   * Begins to delete an object; one that is not there does not matter.
   *
   * @param propagation `Foreground`: it is gone once everything is that belongs to it.
   */
  readonly remove: (
    resource: Resource,
    name: string,
    propagation?: 'Background' | 'Foreground',
  ) => Promise<void>
  /** Takes the owner references from an object, which then outlives its owner; one that is not there does not matter. */
  readonly disown: (resource: Resource, name: string) => Promise<void>
  readonly list: (resource: Resource, selector: string) => Promise<readonly Answered[]>
}

const FIRST_RETRY_MS = 250
/** Milliseconds of one attempt, and of all of them. */
const ATTEMPT_MS = 15_000
const PATIENCE_MS = 30_000
const MAX_ANSWER_BYTES = 64 * 1024 ** 2
/** Refusals that others end: somebody else wrote at the same time, or there is too much to do. */
const PASSING: ReadonlySet<number> = new Set([409, 429])

const APPLY: Attempt = { verb: 'apply', verbs: 'create and patch' }
const PATCH: Attempt = { verb: 'patch', verbs: 'patch' }
const REMOVE: Attempt = { verb: 'delete', verbs: 'delete' }
const LIST: Attempt = { verb: 'list', verbs: 'list' }

/** @param signal gives everything up. */
export function createCalls(findCluster: () => Promise<Cluster>, signal: AbortSignal): Calls {
  async function call(
    attempt: Attempt,
    resource: Resource,
    toRequest: (namespace: string) => ApiRequest,
  ): Promise<unknown> {
    const beganMs = performance.now()
    for (let failures = 0; ; failures++) {
      try {
        const cluster = await findCluster()
        const request = toRequest(cluster.namespace)
        const inTime = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
        const response = await send(cluster, request, inTime)
        return JSON.parse(await readText(response, MAX_ANSWER_BYTES))
      } catch (error) {
        const pauseMs = toRetryMs(error, failures, FIRST_RETRY_MS)
        const isLate = performance.now() - beganMs + pauseMs > PATIENCE_MS
        if (signal.aborted || isLate || !isPassing(error)) throw explain(error, resource, attempt)
        await delay(pauseMs, undefined, { signal })
      }
    }
  }

  async function callIfThere(...request: Parameters<typeof call>): Promise<void> {
    try {
      await call(...request)
    } catch (error) {
      const { cause } = error as Error
      if (!(cause instanceof ApiError && cause.status === 404)) throw error
    }
  }

  return {
    async apply(resource, manifest) {
      const answered = await call(APPLY, resource, (namespace) => ({
        method: 'PATCH',
        path: `${toPath(resource, namespace, manifest.metadata?.name ?? '')}?fieldManager=mx&force=true`,
        body: manifest,
        type: 'application/apply-patch+yaml',
      }))
      return answered as Answered
    },

    async remove(resource, name, propagationPolicy = 'Background') {
      await callIfThere(REMOVE, resource, (namespace) => ({
        method: 'DELETE',
        path: toPath(resource, namespace, name),
        body: { propagationPolicy },
      }))
    },

    async disown(resource, name) {
      await callIfThere(PATCH, resource, (namespace) => ({
        method: 'PATCH',
        path: `${toPath(resource, namespace, name)}?fieldManager=mx`,
        body: { metadata: { ownerReferences: null } },
        type: 'application/merge-patch+json',
      }))
    },

    async list(resource, selector) {
      const query = new URLSearchParams({ labelSelector: selector })
      const answered = await call(LIST, resource, (namespace) => ({
        path: `${toPath(resource, namespace)}?${query}`,
      }))
      return (answered as { items?: readonly Answered[] }).items ?? []
    },
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  return PASSING.has(error.status) || error.status >= 500
}
