import type { HeaderList } from '../../http/headers.ts'

/** Position of a cookie value: characters `from` up to `to` of `text`. Reused, so that searching allocates nothing. */
export interface CookieSpan {
  text: string
  from: number
  to: number
}

const SEMICOLON = 59
const SPACE = 32

/** Finds the first cookie with a name (RFC 6265 §5.4) and sets `span`. */
export function findCookie(headers: HeaderList, name: string, span: CookieSpan): boolean {
  const { flat } = headers
  for (let i = 0; i < flat.length; i += 2) {
    if (flat[i] === 'cookie' && findIn(flat[i + 1]!, name, span)) return true
  }
  return false
}

function findIn(text: string, name: string, span: CookieSpan): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = at === 0 ? SEMICOLON : text.charCodeAt(at - 1)
    const from = at + name.length + 1
    if ((before !== SPACE && before !== SEMICOLON) || text[from - 1] !== '=') continue
    const end = text.indexOf(';', from)
    span.text = text
    span.from = from
    span.to = end < 0 ? text.length : end
    return true
  }
  return false
}
