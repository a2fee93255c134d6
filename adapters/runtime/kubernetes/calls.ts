import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from '../../kubernetes/cluster.ts'
import { type Attempt, explain, toRetryMs } from '../../kubernetes/failures.ts'
import { ApiError, type ApiRequest, readText, send } from '../../kubernetes/request.ts'
import { type Resource, toPath } from '../../kubernetes/resource.ts'

/** A server-side apply manifest. Its fields are enforced; other fields remain unchanged. */
export interface Manifest {
  readonly metadata?: { readonly name?: string }
}

/** Subset of an API response that is used here. */
export interface ApiObject {
  readonly metadata: {
    readonly name: string
    readonly uid?: string
    readonly generation?: number
    readonly labels?: Readonly<Record<string, string>>
  }
}

/** Reads and writes objects in a namespace. Temporary failures are retried for 30 s. */
export interface Calls {
  /** Creates or updates an object by server-side apply and returns it. */
  readonly apply: (resource: Resource, manifest: Manifest) => Promise<ApiObject>
  /**
   * Starts the deletion of an object. Succeeds if the object does not exist.
   *
   * @param propagation with `Foreground`, the object is deleted after its dependents.
   */
  readonly remove: (
    resource: Resource,
    name: string,
    propagation?: 'Background' | 'Foreground',
  ) => Promise<void>
  /**
   * Removes the owner references of an object, so that it outlives its owner. Succeeds if the
   * object does not exist.
   */
  readonly disown: (resource: Resource, name: string) => Promise<void>
  readonly list: (resource: Resource, selector: string) => Promise<readonly ApiObject[]>
}

const FIRST_RETRY_MS = 250
/** Timeout of each attempt, and of all attempts together, in milliseconds. */
const ATTEMPT_MS = 15_000
const TOTAL_MS = 30_000
const MAX_RESPONSE_BYTES = 64 * 1024 ** 2
/** Temporary rejections: conflicting writes and rate limits. */
const TEMPORARY: ReadonlySet<number> = new Set([409, 429])

const APPLY: Attempt = { verb: 'apply', verbs: 'create and patch' }
const PATCH: Attempt = { verb: 'patch', verbs: 'patch' }
const REMOVE: Attempt = { verb: 'delete', verbs: 'delete' }
const LIST: Attempt = { verb: 'list', verbs: 'list' }

/** @param signal aborts all calls. */
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
        const attemptSignal = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
        const response = await send(cluster, request, attemptSignal)
        return JSON.parse(await readText(response, MAX_RESPONSE_BYTES))
      } catch (error) {
        const pauseMs = toRetryMs(error, failures, FIRST_RETRY_MS)
        const isTimedOut = performance.now() - beganMs + pauseMs > TOTAL_MS
        if (signal.aborted || isTimedOut || !isTemporary(error))
          throw explain(error, resource, attempt)
        await delay(pauseMs, undefined, { signal })
      }
    }
  }

  async function callIfExists(...request: Parameters<typeof call>): Promise<void> {
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
      return answered as ApiObject
    },

    async remove(resource, name, propagationPolicy = 'Background') {
      await callIfExists(REMOVE, resource, (namespace) => ({
        method: 'DELETE',
        path: toPath(resource, namespace, name),
        body: { propagationPolicy },
      }))
    },

    async disown(resource, name) {
      await callIfExists(PATCH, resource, (namespace) => ({
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
      return (answered as { items?: readonly ApiObject[] }).items ?? []
    },
  }
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  return TEMPORARY.has(error.status) || error.status >= 500
}
