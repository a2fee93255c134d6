import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'

/**
 * Whether the page that sends a request is of a listed origin (`https://app.example.com`). Browsers say in `Origin` which it is;
 * clients that send none are no browsers and pass.
 *
 * @throws {TypeError} when a listed origin is none.
 */
export function compilePages(origins: readonly string[]): (x: Exchange) => boolean {
  const listed = new Set(origins.map(toOrigin))
  return (x) => {
    const given = x.headers.get('origin')
    if (given === undefined) return true
    return listed.has(given.toLowerCase()) && x.headers.getAll('origin').length === 1
  }
}

/** The answer to a page that may not. */
export function rejectOrigin(id: string, what = 'WebSockets'): GatewayError {
  return new GatewayError(id, 403, `${what} from pages of this origin are not allowed`)
}

/** @throws {TypeError} for anything but scheme, host and, where it is not the scheme's own, port. */
function toOrigin(text: string): string {
  const lower = text.toLowerCase()
  if (!lower.includes('*') && URL.canParse(lower) && new URL(lower).origin === lower) return lower
  const expected = 'must be scheme and host as in https://app.example.com'
  throw new TypeError(`origin ${expected}, got ${JSON.stringify(text)}`)
}
