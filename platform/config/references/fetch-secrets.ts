import { openPlatformClient } from '../../server/platform-account.ts'
import type { ServerCommand } from '../../settings/setting.ts'
import type { Settings } from '../../settings/settings.ts'

/** A platform and the gateway's account on it. */
export type PlatformSettings = Pick<Settings, 'auth' | 'registry' | 'authId' | 'authSecret'>

const TIMEOUT_MS = 5000
const IN_SERVER =
  'mx server starts its service config after reading this file; use a file or an environment variable'
const NO_PLATFORM =
  'the gateway runs without a platform; set auth or registry to mx://host:port or mxs://host:port'

/** Returns the paths of all references `${secret:path}` in a text, including comments. */
export function listSecretPaths(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\$\{secret:([^}]+)\}/g)].map(([, path]) => path!))]
}

/**
 * Reads secrets from the service `config` of the gateway's platform.
 *
 * @returns the value of each path, or an error with a one-line reason.
 * @throws {SettingsError} for incomplete credentials.
 */
export async function fetchSecrets(
  paths: readonly string[],
  command: ServerCommand,
  settings: PlatformSettings,
): Promise<ReadonlyMap<string, string | Error>> {
  const toAll = (reason: string) => new Map(paths.map((path) => [path, new Error(reason)]))
  if (command === 'server') return toAll(IN_SERVER)
  const { auth, registry } = settings
  const isRemote = /^mxs?:/.test(registry)
  if (auth === 'none' && !isRemote) return toAll(NO_PLATFORM)
  const { createConfig } = await import('../../../sdk/config/config.ts')
  const client = await openPlatformClient(
    auth === 'none' ? { registry } : { proxy: auth },
    settings,
  )
  try {
    const config = createConfig(client, { timeoutMs: TIMEOUT_MS })
    const read = async (path: string): Promise<[string, string | Error]> => {
      const value = await config.get(path, { secret: true })
      if (value.error !== undefined) return [path, value.error]
      if (!value.exists())
        return [path, new Error(`it does not exist; store it: mx config set --secret ${path} -`)]
      const json = value.json()
      return typeof json === 'object'
        ? [path, new Error('it must be text, a number or a boolean')]
        : [path, String(json)]
    }
    return new Map(await Promise.all(paths.map(read)))
  } finally {
    await client.close()
  }
}
