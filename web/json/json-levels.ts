import { skipString } from '../../core/request/json/json-text.ts'

/** Nesting limit of JSON: rendering, formatting and searching recurse per level. */
export const MAX_LEVELS = 1000

/** Error text for deeper JSON. */
export const TOO_DEEP: string = `nested more than ${MAX_LEVELS} levels deep`

/** Whether a JSON text exceeds {@link MAX_LEVELS}. */
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
