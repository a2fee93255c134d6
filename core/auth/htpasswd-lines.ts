import type { Account } from '../contracts/auth.ts'
import { isServiceName } from '../registry/service-name.ts'

/** Who a line names, and what proves it. */
export interface CallerLine {
  readonly account: Account
  readonly proof: string
}

export interface CallerLinesOptions {
  /** What a proof looks like. */
  readonly proof: RegExp
  /** The same, for errors. */
  readonly proofForm: string
  /** Namespace the accounts are of. */
  readonly namespace: string
}

const SCOPE = /^[\w.:@/-]{1,100}$/
const LENGTH_MAX = 128

/**
 * Reads lines of an account's id, what proves it, and its scopes joined by commas, if it has any. `#` begins a comment at the
 * beginning of a line or behind a blank.
 *
 * @param source of the lines, for errors.
 * @throws {RangeError} naming the line, but not what it says: it may hold a secret that somebody forgot to hash.
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
        `${source}:${i + 1}: must be an id, ${proofForm} and, if there are any, scopes joined by commas`,
      )
    const account: Account = {
      ...{ id, name: id, type: 'user', issuer: namespace, metadata: {} },
      scopes,
    }
    return [{ account, proof }]
  })
}
