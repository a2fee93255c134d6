import { openGate } from '../core/auth/open-gate.ts'
import type { Gate } from '../core/contracts/auth.ts'
import type { Closing } from './closing.ts'
import type { Log } from './log.ts'
import type { Settings } from './settings.ts'
import { SettingsError } from './settings-sources.ts'

/**
 * The gate of the platform that the setting `auth` names; undefined: there is none, and everybody is let in. What asks it is
 * loaded by those only who have one.
 *
 * @throws {SettingsError} when there is only half of what proves who asks.
 */
export async function openRemoteGate(
  { auth, authId, authSecret }: Settings,
  log: Log,
  closing: Closing,
): Promise<Gate | undefined> {
  if (auth === 'none') return undefined
  if ((authId === '') !== (authSecret === ''))
    throw new SettingsError(['auth_id and auth_secret (MX_AUTH_SECRET) must both be given'])
  const [{ Client }, { createAuthSource }] = await Promise.all([
    import('../sdk/client.ts'),
    import('../sdk/auth-source.ts'),
  ])
  const client = new Client({
    proxy: auth,
    inProcess: false,
    ...(authId !== '' && { auth: { id: authId, secret: authSecret } }),
  })
  closing.add(() => client.close())
  const { gate, ask } = openGate(log)
  closing.add(gate.close)
  ask(createAuthSource(client))
  return gate
}
