import type { Account } from '../contracts/auth.ts'

const texts = new WeakMap<Account, string>()
/** Characters that do not fit into one byte of a header, and control characters that JSON does not escape. */
const NOT_PLAIN = /[\x7f-\uffff]/g

/** Formats an account for the metadata header `mx-account`: JSON in ASCII, cached per account object. */
export function formatAccount(account: Account): string {
  let text = texts.get(account)
  if (text === undefined) {
    const { id, name, type, issuer, scopes, metadata } = account
    text = JSON.stringify({ id, name, type, issuer, scopes, metadata }).replace(
      NOT_PLAIN,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    texts.set(account, text)
  }
  return text
}
