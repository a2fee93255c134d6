import { suggest } from '../text/did-you-mean.ts'

/** Variables of an environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/**
 * What is wrong with variables that look like a misspelt one, one line each. Others with the same prefix may belong to
 * anyone.
 *
 * @param names of the variables there are, without the prefix.
 * @param prefix what their names begin with.
 */
export function findMisspeltVariables(
  env: Environment,
  names: readonly string[],
  prefix: RegExp = /^MX_/,
): readonly string[] {
  return Object.keys(env).flatMap((variable) => {
    const [start] = prefix.exec(variable) ?? []
    if (start === undefined) return []
    const name = variable.slice(start.length)
    const meant = names.includes(name) ? undefined : suggest(name, names)
    return meant === undefined
      ? []
      : [`unknown variable ${variable}, did you mean ${start}${meant}?`]
  })
}
