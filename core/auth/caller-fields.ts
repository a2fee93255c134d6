import type { Account } from '../contracts/auth.ts'
import { formatAccount } from './account-text.ts'

/** Fields of metadata that say who calls, and from where: only ever written by whoever found out. */
const ACCOUNT = 'mx-account'
const ADDRESS = 'mx-address'

/**
 * A metadata block with what was found out of its caller, in place of whatever it says itself.
 *
 * @param address IP address; empty: not told.
 */
export function withCaller(metadata: string, account?: Account, address = ''): string {
  let fields = metadata
  // The usual case is that it says nothing.
  if (metadata.includes(ACCOUNT) || metadata.includes(ADDRESS)) fields = withoutCaller(metadata)
  if (account !== undefined) fields = `${ACCOUNT}: ${formatAccount(account)}\r\n${fields}`
  return address === '' ? fields : `${ADDRESS}: ${address}\r\n${fields}`
}

/** Well-formed or not: lines end as {@link isMetadata} has them end. */
function withoutCaller(metadata: string): string {
  return metadata
    .split('\r\n')
    .filter((line) => !line.startsWith(`${ACCOUNT}:`) && !line.startsWith(`${ADDRESS}:`))
    .join('\r\n')
}
