import type { Account } from '../contracts/auth.ts'
import { formatAccount } from './account-text.ts'

/** Fields of metadata that say who calls, and from where: only ever written by whoever found out. */
const ACCOUNT = 'mx-account'
/** IP address of the caller. */
export const CALLER_ADDRESS = 'mx-address'
/** Built-in services that use it: `auth` counts failed logins by it, the others check what addresses they are given. */
const ADDRESS_USERS: ReadonlySet<string> = new Set(['auth', 'network', 'registry'])

/** Whether a service gets the address of its callers. */
export function usesCallerAddress(service: string): boolean {
  return ADDRESS_USERS.has(service)
}

/**
 * A metadata block with what was found out of its caller, in place of whatever it says itself.
 *
 * @param address IP address; empty: not told.
 */
export function withCaller(metadata: string, account?: Account, address = ''): string {
  let fields = metadata
  // The usual case is that it says nothing.
  if (metadata.includes(ACCOUNT) || metadata.includes(CALLER_ADDRESS))
    fields = withoutCaller(metadata)
  if (account !== undefined) fields = `${ACCOUNT}: ${formatAccount(account)}\r\n${fields}`
  return address === '' ? fields : `${CALLER_ADDRESS}: ${address}\r\n${fields}`
}

/** Well-formed or not: lines end as {@link isMetadata} has them end. */
function withoutCaller(metadata: string): string {
  return metadata
    .split('\r\n')
    .filter((line) => !line.startsWith(`${ACCOUNT}:`) && !line.startsWith(`${CALLER_ADDRESS}:`))
    .join('\r\n')
}
