import type { Account } from '../contracts/auth.ts'

const texts = new WeakMap<Account, string>()
/** What would not be one byte a character in a field, or is a control character JSON leaves as it is. */
const NOT_PLAIN = /[\x7f-\uffff]/g

/** An account as the metadata field `mx-account` holds it: JSON in ASCII. Made once per account object. */
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
