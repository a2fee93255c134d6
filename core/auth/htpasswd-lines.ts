import type { Account } from '../contracts/auth.ts'
import { isServiceName } from '../registry/service-name.ts'

/** An account in a file, with its credential. */
export interface CallerLine {
  readonly account: Account
  readonly credential: string
}

export interface CallerLinesOptions {
  /** Pattern of a credential. */
  readonly credential: RegExp
  /** Description of the pattern, for errors. */
  readonly credentialForm: string
  /** Namespace of the accounts. */
  readonly namespace: string
}

const SCOPE = /^[\w.:@/-]{1,100}$/
const LENGTH_MAX = 128

/**
 * Parses lines with an account id, its credential and optional comma-separated scopes. `#` starts a comment at the
 * beginning of a line or after whitespace.
 *
 * @param source name of the source for errors.
 * @throws {RangeError} with the line number but without its content, which may contain a plain-text secret.
 */
export function parseCallerLines(
  lines: readonly string[],
  source: string,
  { credential: form, credentialForm, namespace }: CallerLinesOptions,
): readonly CallerLine[] {
  return lines.flatMap((line, i) => {
    const text = line.replace(/(^|\s)#.*/, '').trim()
    if (text === '') return []
    const [id = '', credential = '', list = '', ...rest] = text.split(/\s+/)
    const scopes = list.split(',').filter((scope) => scope !== '')
    const isValidHash =
      id.length <= LENGTH_MAX && isServiceName(id) && form.test(credential) && rest.length === 0
    if (!isValidHash || !scopes.every((scope) => SCOPE.test(scope)))
      throw new RangeError(
        `${source}:${i + 1}: expected an id, ${credentialForm} and optional comma-separated scopes`,
      )
    const account: Account = {
      ...{ id, name: id, type: 'user', issuer: namespace, metadata: {} },
      scopes,
    }
    return [{ account, credential }]
  })
}
