import type { Account } from '../contracts/auth.ts'
import { formatAccount } from './account-text.ts'

/** Metadata headers with the identity of the caller; set by the authenticating server only. */
const ACCOUNT = 'mx-account'
export const CALLER_ADDRESS = 'mx-address'
/**
 * Built-in services that need the address: `auth` limits failed logins per address; the other services validate
 * registered addresses.
 */
const ADDRESS_USERS: ReadonlySet<string> = new Set(['auth', 'network', 'registry'])

export function usesCallerAddress(service: string): boolean {
  return ADDRESS_USERS.has(service)
}

/**
 * Replaces the identity headers of a metadata block.
 *
 * @param address IP address; empty if none.
 */
export function withCaller(metadata: string, account?: Account, address = ''): string {
  let fields = metadata
  // The headers are usually absent.
  if (metadata.includes(ACCOUNT) || metadata.includes(CALLER_ADDRESS))
    fields = withoutCaller(metadata)
  if (account !== undefined) fields = `${ACCOUNT}: ${formatAccount(account)}\r\n${fields}`
  return address === '' ? fields : `${CALLER_ADDRESS}: ${address}\r\n${fields}`
}

/** Also works for malformed blocks. For line breaks, see {@link isMetadata}. */
function withoutCaller(metadata: string): string {
  return metadata
    .split('\r\n')
    .filter((line) => !line.startsWith(`${ACCOUNT}:`) && !line.startsWith(`${CALLER_ADDRESS}:`))
    .join('\r\n')
}
