import { openGate } from '../core/auth/open-gate.ts'
import type { Gate } from '../core/contracts/auth.ts'
import type { Closing } from './closing.ts'
import type { Log } from './log.ts'
import { openPlatformClient } from './platform-account.ts'
import type { Settings } from './settings.ts'

/**
 * The gate of the platform that the setting `auth` names; undefined: there is none, and everybody is let in. What asks it is
 * loaded by those only who have one.
 *
 * @throws {SettingsError} when there is only half of what proves who asks.
 */
export async function openRemoteGate(
  settings: Settings,
  log: Log,
  closing: Closing,
): Promise<Gate | undefined> {
  if (settings.auth === 'none') return undefined
  const [client, { createAuthSource }] = await Promise.all([
    openPlatformClient({ proxy: settings.auth }, settings),
    import('../sdk/auth-source.ts'),
  ])
  closing.add(() => client.close())
  const { gate, ask } = openGate(log)
  closing.add(gate.close)
  ask(createAuthSource(client))
  return gate
}
