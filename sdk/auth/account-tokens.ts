import type { TokenSource } from '../../core/contracts/token-source.ts'
import { GatewayError } from '../../core/errors.ts'
import { isServerText, type ResolvedCredentials, readStoredCredentials } from './credentials.ts'
import { createTokenSource, isRejected, type LoginReply } from './token-source.ts'

export interface AccountTokensOptions {
  readonly credentials: ResolvedCredentials
  /** Address of the platform. If undefined, `auth` is looked up in the registry. */
  readonly platform: string | undefined
  /** Calls `Auth.Token` without a token. @param address address of the platform. @default from the registry */
  readonly call: (request: object, address?: string) => Promise<LoginReply>
}

/** Creates the tokens of an account by logging in with its credentials. */
export function createAccountTokens({
  credentials,
  platform,
  call,
}: AccountTokensOptions): TokenSource {
  const { namespace, isImplicit } = credentials
  /** Last rejected implicit secret. Initially empty, which equals the secret of missing credentials. */
  let rejectedSecret = ''

  async function callPlatform(request: object): Promise<LoginReply> {
    if (platform === undefined || !isServerText(platform)) return call(request)
    try {
      // Called without the registry, which may require a login.
      return await call(request, platform.trim())
    } catch (error) {
      // The address belongs to a registry that does not serve `auth` but can look up a node that does.
      if (error instanceof GatewayError && error.code === 404) return call(request)
      throw error
    }
  }

  async function logIn(): Promise<LoginReply> {
    // A server started in the meantime may have stored new credentials.
    const { id, secret } = isImplicit ? readStoredCredentials() : credentials
    if (isImplicit && secret === rejectedSecret)
      throw new GatewayError('auth', 401, 'no account configured')
    try {
      return await callPlatform({ id, secret })
    } catch (error) {
      if (isImplicit && isRejected(GatewayError.from(error))) rejectedSecret = secret
      throw addHint(error, id, namespace)
    }
  }

  return createTokenSource({
    logIn,
    refresh: (refresh_token) => callPlatform({ refresh_token }),
    isImplicit,
  })
}

/** Adds a hint to the error: the account may belong to another namespace. */
function addHint(error: unknown, id: string, namespace: string): unknown {
  if (!(error instanceof GatewayError) || error.code !== 400) return error
  const detail = `${error.message}: ${id} in the namespace ${namespace} (MX_NAMESPACE names another)`
  return new GatewayError(error.id, error.code, detail, { cause: error })
}
