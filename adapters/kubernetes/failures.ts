import { toBackOffMs } from '../../lib/async/backoff.ts'
import { ApiError } from './request.ts'
import type { Resource } from './resource.ts'

/** What was tried, and what a role must grant for it. */
export interface Attempt {
  readonly verb: string
  readonly verbs: string
}

const WATCH: Attempt = { verb: 'watch', verbs: 'get, list and watch' }

const MAX_RETRY_MS = 10_000

/**
 * Milliseconds to wait after so many failures in a row: doubled each time up to 10 s, and not shorter than the
 * server asks for. Jittered: gateways that lost the same server are not to come back together.
 */
export function toRetryMs(error: unknown, failures: number, firstMs: number): number {
  const requestedMs = error instanceof ApiError ? error.retryAfterMs : 0
  return Math.max(requestedMs, toBackOffMs(failures, { minMs: firstMs, maxMs: MAX_RETRY_MS }))
}

/** Why it failed, in words that say what to do about it. */
export function explain(
  error: unknown,
  { name, group }: Resource,
  { verb, verbs }: Attempt = WATCH,
): Error {
  const cause = error instanceof Error ? error : new Error(String(error))
  const what = `cannot ${verb} Kubernetes ${name}`
  const status = error instanceof ApiError ? error.status : 0
  if (status === 401)
    return toRefusal(`${what}: the credentials are refused (${cause.message})`, cause)
  if (status === 403) {
    const full =
      group === '' ? `${name} of the core API group ""` : `${name} of the API group ${group}`
    return toRefusal(
      `${what}: access is denied; grant the verbs ${verbs} on ${full} by a Role and a RoleBinding (${cause.message})`,
      cause,
    )
  }
  return new Error(`${what}: ${cause.message}`, { cause })
}

/** As `isRefusal` knows it. */
function toRefusal(message: string, cause: Error): Error {
  return Object.assign(new Error(message, { cause }), { denied: true })
}
