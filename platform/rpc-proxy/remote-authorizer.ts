import { deniesCaller } from '../../core/auth/authorizer.ts'
import { openGate } from '../../core/auth/open-authorizer.ts'
import type { Authorizer, AuthSource, TokenKnowledge } from '../../core/contracts/auth.ts'
import type { Disposer } from '../../lib/async/disposer.ts'
import type { Log } from '../process/log.ts'
import { openPlatformClient } from '../server/platform-account.ts'
import type { Settings } from '../settings/settings.ts'

/** The gate of a platform elsewhere. */
export interface RemoteGate {
  readonly gate: Authorizer
  /** Why nobody can be let in, in a line; undefined: the platform has told what it takes once. */
  readonly problem: () => string | undefined
}

const NO_ANSWER = 'auth has not answered yet'
const REFUSED = 'auth refuses access: the log says why'

/**
 * The gate of the platform that the setting `auth` names; undefined: there is none, and everybody is let in. What asks it is
 * loaded by those only who have one.
 *
 * @throws {SettingsError} when there is only half of what proves who asks.
 */
export async function openRemoteGate(
  settings: Settings,
  log: Log,
  closing: Disposer,
): Promise<RemoteGate | undefined> {
  if (settings.auth === 'none') return undefined
  const [client, { createAuthSource }] = await Promise.all([
    openPlatformClient({ proxy: settings.auth }, settings),
    import('../../sdk/auth/auth-source.ts'),
  ])
  closing.add(() => client.close())
  const { gate, ask } = openGate(log)
  closing.add(gate.close)
  const { source, problem } = hearFirstKeys(createAuthSource(client))
  ask(source)
  return { gate, problem }
}

/** Notices when a source has told keys for the first time: it lets in who asks, which goes for its rules, too. */
function hearFirstKeys(given: AuthSource): Pick<RemoteGate, 'problem'> & { source: AuthSource } {
  let hasAnswered = false
  let problem = NO_ANSWER

  async function* watchTokens(
    signal: AbortSignal,
  ): AsyncGenerator<TokenKnowledge, void, undefined> {
    try {
      for await (const knowledge of given.watchTokens(signal)) {
        hasAnswered = true
        yield knowledge
      }
    } catch (error) {
      problem = deniesCaller(error) ? REFUSED : NO_ANSWER
      throw error
    }
  }

  return {
    source: { ...given, watchTokens },
    problem: () => (hasAnswered ? undefined : problem),
  }
}
