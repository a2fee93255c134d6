/** A call Consul did not do. */
export interface ConsulError extends Error {
  /** The token may not do it or is unknown, or Consul calls it malformed: asking again does not help until somebody changes that. */
  readonly denied: boolean
  /** The agent does not know the service or check it was to change. */
  readonly gone: boolean
  /** The connection was refused or cut off, as one too many is. */
  readonly crowded: boolean
}

/** What of Consul's own text goes into a message, characters. */
const MAX_SHOWN = 200
/** Of the agent's answers to a pass, a deregistration or maintenance; old versions answer 500, newer ones 404. */
const GONE =
  /does not have associated TTL|Unknown (?:check|service)|No service registered|does not exist/i
const UNKNOWN_TOKEN = /ACL not found/i
const DENIED = /Permission denied|lacks permission/i
/** What Consul answers to nothing it is asked here but with a text of {@link GONE}. */
const FOREIGN_STATUS: readonly number[] = [401, 404, 405]
const MARKUP = /^\s*</

/** An error of this module's making. Never carries the library's own one, which holds the request with the token. */
export function createConsulError(
  message: string,
  kind: Partial<Pick<ConsulError, 'denied' | 'gone' | 'crowded'>> = {},
): ConsulError {
  return Object.assign(new Error(message), { denied: false, gone: false, crowded: false, ...kind })
}

/**
 * The error of an answer that is not 2xx.
 *
 * @param text what Consul answered.
 * @param where `host:port` it was asked at.
 * @param needs what the token must be allowed.
 */
export function toAnswerError(
  status: number,
  text: string,
  where: string,
  needs: string,
): ConsulError {
  const shown = toShown(text)
  const consul = `Consul at ${where}`
  if (UNKNOWN_TOKEN.test(text))
    return createConsulError(`${consul} does not know the token (ACL not found)`, { denied: true })
  if (isForeign(status, text)) {
    return createConsulError(
      toNotConsulText(where, `it answers ${status}${shown && `: ${shown}`}`),
      {
        denied: [400, 401, 403].includes(status),
        gone: status === 404,
      },
    )
  }
  if (status === 403 || DENIED.test(text)) {
    return createConsulError(`${consul} refuses (${shown}): the token needs ${needs}`, {
      denied: true,
    })
  }
  if (status === 429) {
    return createConsulError(
      `${consul} has too many connections from this address (${shown}): raise its limits.http_max_conns_per_client`,
      { crowded: true },
    )
  }
  return createConsulError(`${consul} answers ${status}: ${shown}`, {
    denied: status === 400,
    gone: status === 404 || GONE.test(text),
  })
}

/** @param why what it did that no Consul does. */
export function toNotConsulText(where: string, why: string): string {
  return `what answers at ${where} is no Consul: ${why}`
}

/** Whether an answer that is not 2xx is no Consul's. What a proxy before it says of itself (5xx) may be HTML, too. */
function isForeign(status: number, text: string): boolean {
  if (status >= 500) return false
  if (status < 400 || MARKUP.test(text)) return true
  return FOREIGN_STATUS.includes(status) && !GONE.test(text)
}

export function isConsulError(error: unknown): error is ConsulError {
  return error instanceof Error && 'denied' in error && 'gone' in error
}

function toShown(text: string): string {
  return text
    .slice(0, MAX_SHOWN)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
}
