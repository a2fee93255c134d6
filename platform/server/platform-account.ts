import type { Credentials } from '../../sdk/auth/credentials.ts'
import type { Client } from '../../sdk/client/client.ts'
import type { Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'

/**
 * The account a gateway has at a platform; undefined: none was given.
 *
 * @throws {SettingsError} when there is only half of what proves it.
 */
function readAccount({
  authId,
  authSecret,
}: Pick<Settings, 'authId' | 'authSecret'>): Credentials | undefined {
  if (authId === '' && authSecret === '') return undefined
  if (authId === '' || authSecret === '')
    throw new SettingsError(['auth_id and auth_secret (MX_AUTH_SECRET) must both be given'])
  return { id: authId, secret: authSecret }
}

/**
 * A client that logs in with the account of a gateway, else with what a server of the same user left on this machine. The SDK
 * is loaded by those only who have a platform.
 *
 * @param place of the platform: the RPC proxy that all calls go to, or the registry.
 * @throws {SettingsError} as {@link readAccount}.
 */
export async function openPlatformClient(
  place: { readonly proxy: string } | { readonly registry: string },
  settings: Pick<Settings, 'authId' | 'authSecret'>,
): Promise<Client> {
  const auth = readAccount(settings)
  const { Client } = await import('../../sdk/client/client.ts')
  return new Client({ ...place, inProcess: false, ...(auth && { auth }) })
}
