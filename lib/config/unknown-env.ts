import { suggest } from '../text/did-you-mean.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Describes variables that look like misspelled known variables, one line each. Others with the prefix may belong to
 * other programs.
 *
 * @param names known variable names without the prefix.
 */
export function findUnknownEnv(
  env: Environment,
  names: readonly string[],
  prefix: RegExp = /^MX_/,
): readonly string[] {
  return Object.keys(env).flatMap((variable) => {
    const [start] = prefix.exec(variable) ?? []
    if (start === undefined) return []
    const name = variable.slice(start.length)
    const suggestion = names.includes(name) ? undefined : suggest(name, names)
    return suggestion === undefined
      ? []
      : [`unknown variable ${variable}, did you mean ${start}${suggestion}?`]
  })
}
