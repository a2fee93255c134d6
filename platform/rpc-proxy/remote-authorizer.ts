import { deniesCaller } from '../../core/auth/authorizer.ts'
import { createDeferredAuthorizer } from '../../core/auth/open-authorizer.ts'
import type { Authorizer, AuthSource, TokenKnowledge } from '../../core/contracts/auth.ts'
import type { Disposer } from '../../lib/async/disposer.ts'
import type { Log } from '../process/log.ts'
import { openPlatformClient } from '../server/platform-account.ts'
import type { Settings } from '../settings/settings.ts'

/** Authorizer that uses the access rules of a remote server. */
export interface RemoteAuthorizer {
  readonly authorizer: Authorizer
  /**
   * Returns a one-line reason why calls cannot be authorized, or undefined once keys have been
   * received.
   */
  readonly problem: () => string | undefined
}

const NOT_READY = 'the auth service has not responded yet'
const DENIED = 'the auth service denies access; see the log'

/**
 * Opens the authorizer for the server in the `auth` setting. Returns undefined if the setting is
 * empty: all calls are then allowed. The client is imported on demand.
 *
 * @throws {SettingsError} for incomplete credentials.
 */
export async function openRemoteAuthorizer(
  settings: Settings,
  log: Log,
  closing: Disposer,
): Promise<RemoteAuthorizer | undefined> {
  if (settings.auth === 'none') return undefined
  const [client, { createAuthSource }] = await Promise.all([
    openPlatformClient({ proxy: settings.auth }, settings),
    import('../../sdk/auth/auth-source.ts'),
  ])
  closing.add(() => client.close())
  const { authorizer, setSource } = createDeferredAuthorizer(log)
  closing.add(authorizer.close)
  const { source, problem } = trackKeys(createAuthSource(client))
  setSource(source)
  return { authorizer, problem }
}

/** Detects the first keys from a source. Its rules are then accessible as well. */
function trackKeys(source: AuthSource): Pick<RemoteAuthorizer, 'problem'> & { source: AuthSource } {
  let isReady = false
  let problem = NOT_READY

  async function* watchTokens(
    signal: AbortSignal,
  ): AsyncGenerator<TokenKnowledge, void, undefined> {
    try {
      for await (const knowledge of source.watchTokens(signal)) {
        isReady = true
        yield knowledge
      }
    } catch (error) {
      problem = deniesCaller(error) ? DENIED : NOT_READY
      throw error
    }
  }

  return {
    source: { ...source, watchTokens },
    problem: () => (isReady ? undefined : problem),
  }
}
