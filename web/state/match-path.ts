/** Decoded path parameters by name. */
export type Parameters = Readonly<Record<string, string>>

/** Properties passed to every page. */
export interface RouteProps {
  readonly parameters: Parameters
}

/**
 * Matches a path against a pattern. Returns the parameters, or undefined if it does not match.
 *
 * @param pattern pattern such as `/services/:name`; a trailing `*` captures the rest as parameter `rest`.
 */
export function match(pattern: string, path: string): Parameters | undefined {
  const parts = pattern.split('/')
  const values = path.replace(/(.)\/+$/, '$1').split('/')
  const parameters: Record<string, string> = {}
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (part === '*') return { ...parameters, rest: values.slice(i).map(decode).join('/') }
    const value = values[i]
    if (value === undefined) return undefined
    if (!part.startsWith(':')) {
      if (part !== value) return undefined
    } else if (value === '') return undefined
    else parameters[part.slice(1)] = decode(value)
  }
  return parts.length === values.length ? parameters : undefined
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
