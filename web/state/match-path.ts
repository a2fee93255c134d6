/** Names in a pattern, and what stands for them in a path. */
export type Parameters = Readonly<Record<string, string>>

/** What every page is drawn with. */
export interface RouteProps {
  readonly parameters: Parameters
}

/**
 * The parameters of a path that a pattern matches, decoded; undefined: it does not.
 *
 * @param pattern such as `/services/:name`; `*` at its end stands for the rest, as parameter `rest`.
 */
export function match(pattern: string, path: string): Parameters | undefined {
  const wanted = pattern.split('/')
  const given = path.replace(/(.)\/+$/, '$1').split('/')
  const parameters: Record<string, string> = {}
  for (let i = 0; i < wanted.length; i++) {
    const part = wanted[i]!
    if (part === '*') return { ...parameters, rest: given.slice(i).map(decode).join('/') }
    const value = given[i]
    if (value === undefined) return undefined
    if (!part.startsWith(':')) {
      if (part !== value) return undefined
    } else if (value === '') return undefined
    else parameters[part.slice(1)] = decode(value)
  }
  return wanted.length === given.length ? parameters : undefined
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
