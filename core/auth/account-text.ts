import type { Account } from '../contracts/auth.ts'

const texts = new WeakMap<Account, string>()
/** Characters that do not fit into one header byte, and DEL, which JSON does not escape. */
const ESCAPED = /[\x7f-\uffff]/g

/** Formats an account as ASCII JSON for the `mx-account` metadata header. The text is cached per account object. */
export function formatAccount(account: Account): string {
  let text = texts.get(account)
  if (text === undefined) {
    const { id, name, type, issuer, scopes, metadata, apiKey } = account
    text = JSON.stringify({ id, name, type, issuer, scopes, metadata, apiKey }).replace(
      ESCAPED,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    texts.set(account, text)
  }
  return text
}
