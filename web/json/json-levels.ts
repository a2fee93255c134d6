import { skipString } from '../../core/request/json/json-text.ts'

/** Maximum nesting depth of JSON, because rendering, formatting and searching are recursive. */
export const MAX_LEVELS = 1000

/** Error text for JSON that exceeds the depth. */
export const TOO_DEEP: string = `nested more than ${MAX_LEVELS} levels deep`

/** True if a JSON text exceeds {@link MAX_LEVELS}. */
export function isTooDeep(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = skipString(text, at) - 1
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > MAX_LEVELS) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}
