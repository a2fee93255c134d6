import type { Credentials } from '../../sdk/auth/credentials.ts'
import type { Client } from '../../sdk/client/client.ts'
import type { Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'

/**
 * Returns the gateway's account on a server, or undefined if it is not set.
 *
 * @throws {SettingsError} for incomplete credentials.
 */
function readAccount({
  authId,
  authSecret,
}: Pick<Settings, 'authId' | 'authSecret'>): Credentials | undefined {
  if (authId === '' && authSecret === '') return undefined
  if (authId === '' || authSecret === '')
    throw new SettingsError(['auth_id and auth_secret (MX_AUTH_SECRET) must both be set'])
  return { id: authId, secret: authSecret }
}

/**
 * Opens a client with the account of the gateway. By default, it uses the local credentials of a
 * server run by the same user. Imports the SDK on demand.
 *
 * @param target RPC proxy or registry of the server.
 * @throws {SettingsError} for incomplete credentials.
 */
export async function openPlatformClient(
  target: { readonly proxy: string } | { readonly registry: string },
  settings: Pick<Settings, 'authId' | 'authSecret'>,
): Promise<Client> {
  const auth = readAccount(settings)
  const { Client } = await import('../../sdk/client/client.ts')
  return new Client({ ...target, inProcess: false, ...(auth && { auth }) })
}
