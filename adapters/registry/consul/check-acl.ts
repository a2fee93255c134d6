import { isIPv4 } from 'node:net'
import type { ConsulClient } from './http/client.ts'
import { isConsulError } from './http/errors.ts'
import { callRaw } from './http/raw-call.ts'

export interface GuardOptions {
  readonly host: string
  readonly secure: boolean
  readonly token: string | undefined
  readonly warn: (message: string) => void
}

/**
 * Says what is dangerous about the Consul in use: without ACLs whoever reaches it decides where requests go.
 *
 * @returns whether Consul answered, so that there is nothing more to ask.
 */
export async function warnIfNoAcl(
  client: ConsulClient,
  { host, secure, token, warn }: GuardOptions,
): Promise<boolean> {
  if (isLoopback(host)) return true
  if (token !== undefined && !secure)
    warn(`Consul: the token goes to ${host} unencrypted; use consuls:// (HTTPS)`)
  try {
    await client.ask((consul, call) => callRaw(consul, 'get', { path: '/acl/token/self' }, call), {
      needs: 'nothing',
    })
  } catch (error) {
    if (!isConsulError(error)) return false
    if (!error.message.includes('ACL support disabled')) return error.denied || error.gone
    warn(
      `Consul at ${host} has no ACLs: whoever reaches it can register any address for any service and receive its requests; ` +
        'enable ACLs (acl { enabled = true, default_policy = "deny" })',
    )
  }
  return true
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
