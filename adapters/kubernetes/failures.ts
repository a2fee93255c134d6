import { ApiError } from './request.ts'

/** A collection of the API. */
export interface Resource {
  /** As roles name it: `endpointslices`. */
  readonly name: string
  /** API group, empty for the core one. */
  readonly group: string
}

const MAX_RETRY_MS = 30_000

/**
 * Milliseconds to wait after so many failures in a row: doubled each time up to half a minute, and not shorter than the
 * server asks for. Jittered: gateways that lost the same server are not to come back together.
 */
export function toRetryMs(error: unknown, failures: number, firstMs: number): number {
  const longestMs = Math.min(MAX_RETRY_MS, firstMs * 2 ** failures)
  const askedMs = error instanceof ApiError ? error.retryAfterMs : 0
  return Math.max(askedMs, longestMs * (0.5 + Math.random() / 2))
}

/** The reason of an outage, in words that say what to do about it. */
export function explain(error: unknown, { name, group }: Resource): Error {
  const cause = error instanceof Error ? error : new Error(String(error))
  const what = `cannot watch Kubernetes ${name}`
  const status = error instanceof ApiError ? error.status : 0
  if (status === 401)
    return new Error(`${what}: the credentials are refused (${cause.message})`, { cause })
  if (status === 403) {
    const full =
      group === '' ? `${name} of the core API group ""` : `${name} of the API group ${group}`
    return new Error(
      `${what}: access is denied; grant the verbs get, list and watch on ${full} by a Role and a RoleBinding (${cause.message})`,
      { cause },
    )
  }
  return new Error(`${what}: ${cause.message}`, { cause })
}
