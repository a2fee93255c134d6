import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'

/**
 * Compiles a check of the `Origin` header against a list (`https://app.example.com`). Requests without an origin pass,
 * because they do not come from a page.
 *
 * @throws {TypeError} if an entry is invalid.
 */
export function compileOriginPolicy(origins: readonly string[]): (x: Exchange) => boolean {
  const listed = new Set(origins.map(toOrigin))
  return (x) => {
    const origin = x.headers.get('origin')
    if (origin === undefined) return true
    return listed.has(origin.toLowerCase()) && x.headers.getAll('origin').length === 1
  }
}

export function rejectOrigin(id: string, label = 'WebSockets'): GatewayError {
  return new GatewayError(id, 403, `${label} from this origin are not allowed`)
}

/** @throws {TypeError} if the text has parts other than scheme, host and port, or the default port of its scheme. */
function toOrigin(text: string): string {
  const lower = text.toLowerCase()
  if (!lower.includes('*') && URL.canParse(lower) && new URL(lower).origin === lower) return lower
  const expected = 'must be a scheme and host such as https://app.example.com'
  throw new TypeError(`origin ${expected}, got ${JSON.stringify(text)}`)
}
