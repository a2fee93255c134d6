import type { TokenSource } from '../../core/contracts/token-source.ts'
import { GatewayError } from '../../core/errors.ts'
import { type FoundCredentials, isServerText, readLeft } from './credentials.ts'
import { createTokenSource, isRejected, type LoginReply } from './token-source.ts'

export interface AccountTokensOptions {
  readonly credentials: FoundCredentials
  /** Where the platform is; undefined: whoever knows `auth` says so. */
  readonly platform: string | undefined
  /** Calls `Auth.Token`, at an address if one is given, without a token. */
  readonly ask: (request: object, address?: string) => Promise<LoginReply>
}

/** The tokens of an account, by logging in with its credentials. */
export function createAccountTokens({
  credentials,
  platform,
  ask,
}: AccountTokensOptions): TokenSource {
  const { namespace, isGuess } = credentials
  /** Of a guess: the one that was wrong; at first, that nobody has left any. */
  let wrong = ''

  async function askPlatform(request: object): Promise<LoginReply> {
    if (platform === undefined || !isServerText(platform)) return ask(request)
    try {
      // Straight: its registry may be for those alone who have logged in.
      return await ask(request, platform.trim())
    } catch (error) {
      // It is a registry alone, which knows where `auth` is.
      if (error instanceof GatewayError && error.code === 404) return ask(request)
      throw error
    }
  }

  async function logIn(): Promise<LoginReply> {
    // A server that was started later, or anew, has left others since.
    const { id, secret } = isGuess ? readLeft() : credentials
    if (isGuess && secret === wrong) throw new GatewayError('auth', 401, 'no account of its own')
    try {
      return await askPlatform({ id, secret })
    } catch (error) {
      if (isGuess && isRejected(GatewayError.from(error))) wrong = secret
      throw tellWhose(error, id, namespace)
    }
  }

  return createTokenSource({
    logIn,
    refresh: (refresh_token) => askPlatform({ refresh_token }),
    isGuess,
  })
}

/** An account that is refused may be one of another namespace, of which nobody thinks. */
function tellWhose(error: unknown, id: string, namespace: string): unknown {
  if (!(error instanceof GatewayError) || error.code !== 400) return error
  const detail = `${error.message}: ${id} in the namespace ${namespace} (MX_NAMESPACE names another)`
  return new GatewayError(error.id, error.code, detail, { cause: error })
}
