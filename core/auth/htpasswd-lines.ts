import type { Account } from '../contracts/auth.ts'
import { isServiceName } from '../registry/service-name.ts'

/** One account of a file, with its credential. */
export interface CallerLine {
  readonly account: Account
  readonly proof: string
}

export interface CallerLinesOptions {
  /** Pattern of a credential. */
  readonly proof: RegExp
  /** Description of the pattern, for errors. */
  readonly proofForm: string
  /** Namespace of the accounts. */
  readonly namespace: string
}

const SCOPE = /^[\w.:@/-]{1,100}$/
const LENGTH_MAX = 128

/**
 * Parses lines of an account id, its credential and optional scopes joined by commas. `#` starts a comment at the
 * beginning of a line or after whitespace.
 *
 * @param source of the lines, for errors.
 * @throws {RangeError} naming the line without quoting it: it may contain a plain-text secret.
 */
export function parseCallerLines(
  lines: readonly string[],
  source: string,
  { proof: form, proofForm, namespace }: CallerLinesOptions,
): readonly CallerLine[] {
  return lines.flatMap((line, i) => {
    const text = line.replace(/(^|\s)#.*/, '').trim()
    if (text === '') return []
    const [id = '', proof = '', list = '', ...rest] = text.split(/\s+/)
    const scopes = list.split(',').filter((scope) => scope !== '')
    const isRight =
      id.length <= LENGTH_MAX && isServiceName(id) && form.test(proof) && rest.length === 0
    if (!isRight || !scopes.every((scope) => SCOPE.test(scope)))
      throw new RangeError(
        `${source}:${i + 1}: must be an id, ${proofForm} and optional scopes joined by commas`,
      )
    const account: Account = {
      ...{ id, name: id, type: 'user', issuer: namespace, metadata: {} },
      scopes,
    }
    return [{ account, proof }]
  })
}
