import { isIPv4 } from 'node:net'
import type { ConsulClient } from './http/client.ts'
import { isConsulError } from './http/errors.ts'
import { callRaw } from './http/raw-call.ts'

export interface AclCheckOptions {
  readonly host: string
  readonly secure: boolean
  readonly token: string | undefined
  readonly warn: (message: string) => void
}

/**
 * Warns about security problems of Consul. Without ACLs, anyone who can reach Consul controls where
 * requests are routed.
 *
 * @returns whether Consul responded and the check is complete.
 */
export async function warnIfNoAcl(
  client: ConsulClient,
  { host, secure, token, warn }: AclCheckOptions,
): Promise<boolean> {
  if (isLoopback(host)) return true
  if (token !== undefined && !secure)
    warn(`Consul: the token is sent to ${host} unencrypted; use consuls:// (HTTPS)`)
  try {
    await client.request(
      (consul, call) => callRaw(consul, 'get', { path: '/acl/token/self' }, call),
      {
        needs: 'nothing',
      },
    )
  } catch (error) {
    if (!isConsulError(error)) return false
    if (!error.message.includes('ACL support disabled')) return error.denied || error.notFound
    warn(
      `Consul at ${host} has no ACLs: anyone who can reach it can register any address for any service and receive its requests; ` +
        'enable ACLs (acl { enabled = true, default_policy = "deny" })',
    )
  }
  return true
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
