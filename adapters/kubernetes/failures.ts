import { toBackOffMs } from '../../lib/async/backoff.ts'
import { ApiError } from './request.ts'
import type { Resource } from './resource.ts'

/** An operation and the verbs that a role must grant for it. */
export interface Attempt {
  readonly verb: string
  readonly verbs: string
}

const WATCH: Attempt = { verb: 'watch', verbs: 'get, list and watch' }

const MAX_RETRY_MS = 10_000

/**
 * Returns the back-off in milliseconds. It doubles up to 10 s and is at least the server's
 * `Retry-After`. Jitter prevents gateways that lost the same server from reconnecting
 * simultaneously.
 */
export function toRetryMs(error: unknown, failures: number, firstMs: number): number {
  const requestedMs = error instanceof ApiError ? error.retryAfterMs : 0
  return Math.max(requestedMs, toBackOffMs(failures, { minMs: firstMs, maxMs: MAX_RETRY_MS }))
}

/** Adds advice to an error message. */
export function explain(
  error: unknown,
  { name, group }: Resource,
  { verb, verbs }: Attempt = WATCH,
): Error {
  const cause = error instanceof Error ? error : new Error(String(error))
  const problem = `cannot ${verb} Kubernetes ${name}`
  const status = error instanceof ApiError ? error.status : 0
  if (status === 401)
    return toDenial(`${problem}: the credentials were rejected (${cause.message})`, cause)
  if (status === 403) {
    const qualifiedName =
      group === '' ? `${name} in the core API group ""` : `${name} in the API group ${group}`
    return toDenial(
      `${problem}: access denied; grant the verbs ${verbs} on ${qualifiedName} with a Role and a RoleBinding (${cause.message})`,
      cause,
    )
  }
  return new Error(`${problem}: ${cause.message}`, { cause })
}

/** Creates an error with `isPermanent` set. */
function toDenial(message: string, cause: Error): Error {
  return Object.assign(new Error(message, { cause }), { denied: true })
}
