interface Weighted {
  readonly coding: string
  readonly weight: number
}

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

/**
 * Returns the content codings of `supported` that a client accepts, best first (RFC 9110 §12.5.3). Codings with equal
 * weight keep the order of `supported`. Omits codings that the client ranks below the unencoded body.
 *
 * @param accepted value of `Accept-Encoding`; undefined or empty if none.
 */
export function acceptedCodings<T extends string>(
  accepted: string | undefined,
  supported: readonly T[],
): readonly T[] {
  if (accepted === undefined || accepted === '') return []
  const listed = accepted.split(',').map(parseWeighted)
  const weightOf = (name: string): number | undefined =>
    listed.find(({ coding }) => coding === name)?.weight
  const defaultWeight = weightOf('*') ?? 0
  const identity = weightOf('identity') ?? 0
  return supported
    .map((coding) => ({ coding, weight: weightOf(coding) ?? defaultWeight }))
    .filter(({ weight }) => weight > 0 && weight >= identity)
    .sort((a, b) => b.weight - a.weight)
    .map(({ coding }) => coding)
}

function parseWeighted(text: string): Weighted {
  const [name = '', ...parameters] = text.split(';')
  const weights = parameters.flatMap((parameter) => WEIGHT.exec(parameter.trim())?.[1] ?? [])
  return { coding: name.trim().toLowerCase(), weight: Number(weights[0] ?? 1) }
}
