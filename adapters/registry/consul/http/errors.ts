/** A failed call. */
export interface ConsulError extends Error {
  /**
   * The token is unknown or lacks a permission, or the request is malformed. A retry does not help.
   */
  readonly denied: boolean
  /** The agent does not know the service or check. */
  readonly notFound: boolean
  /** The connection was rejected or reset because of a connection limit. */
  readonly overLimit: boolean
}

/** Maximum length in characters of Consul's text quoted in a message. */
const MAX_EXCERPT = 200
/**
 * Consul's response when an unknown node or check is passed, deregistered or put into maintenance.
 * Old versions return 500, newer ones 404.
 */
const NOT_FOUND =
  /does not have associated TTL|Unknown (?:check|service)|No service registered|does not exist/i
const UNKNOWN_TOKEN = /ACL not found/i
const DENIED = /Permission denied|lacks permission/i
/** Statuses that Consul returns for these requests only with a text matching {@link NOT_FOUND}. */
const OTHER_STATUS: readonly number[] = [401, 404, 405]
const MARKUP = /^\s*</

/**
 * Creates an error that, unlike the library's own error, does not reference the request and its
 * token.
 */
export function createConsulError(
  message: string,
  kind: Partial<Pick<ConsulError, 'denied' | 'notFound' | 'overLimit'>> = {},
): ConsulError {
  return Object.assign(new Error(message), {
    denied: false,
    notFound: false,
    overLimit: false,
    ...kind,
  })
}

/**
 * Converts a response that is not 2xx to an error.
 *
 * @param text response body.
 * @param authority `host:port` of the server.
 * @param needs required permissions.
 */
export function toResponseError(
  status: number,
  text: string,
  authority: string,
  needs: string,
): ConsulError {
  const excerpt = toExcerpt(text)
  const consul = `Consul at ${authority}`
  if (UNKNOWN_TOKEN.test(text))
    return createConsulError(`${consul} rejected the token (ACL not found)`, { denied: true })
  if (isNotConsul(status, text)) {
    return createConsulError(
      toNotConsulText(authority, `it returned ${status}${excerpt && `: ${excerpt}`}`),
      {
        denied: [400, 401, 403].includes(status),
        notFound: status === 404,
      },
    )
  }
  if (status === 403 || DENIED.test(text)) {
    return createConsulError(
      `${consul} denied the request (${excerpt}): the token needs ${needs}`,
      {
        denied: true,
      },
    )
  }
  if (status === 429) {
    return createConsulError(
      `${consul} rejected the connection because this address has too many (${excerpt}): raise its limits.http_max_conns_per_client`,
      { overLimit: true },
    )
  }
  return createConsulError(`${consul} returned ${status}: ${excerpt}`, {
    denied: status === 400,
    notFound: status === 404 || NOT_FOUND.test(text),
  })
}

/** @param why how the response differs from a response of Consul. */
export function toNotConsulText(authority: string, why: string): string {
  return `the server at ${authority} is not Consul: ${why}`
}

/**
 * Returns whether an error response does not come from Consul. A 5xx response may come from a proxy
 * in front of Consul.
 */
function isNotConsul(status: number, text: string): boolean {
  if (status >= 500) return false
  if (status < 400 || MARKUP.test(text)) return true
  return OTHER_STATUS.includes(status) && !NOT_FOUND.test(text)
}

export function isConsulError(error: unknown): error is ConsulError {
  return error instanceof Error && 'denied' in error && 'notFound' in error
}

function toExcerpt(text: string): string {
  return text
    .slice(0, MAX_EXCERPT)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}
