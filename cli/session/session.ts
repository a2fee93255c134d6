import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import { GatewayError } from '../../core/errors.ts'
import type { CallOptions, Client } from '../../sdk/client/client.ts'
import { createContext } from '../../sdk/context.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { readConfig } from '../state/config.ts'
import { EDIT_MS } from '../state/state-file.ts'
import {
  type Credentials,
  type CredentialsOwner,
  changeCredentials,
  readCredentials,
} from '../state/tokens.ts'
import { explainCall } from '../ui/explain-call.ts'
import { CliError, EXIT } from '../ui/output.ts'
import {
  type Environment,
  findEnvironment,
  toAccountName,
  toNamespaceName,
} from './environments.ts'
import { createReconnect } from './reconnect.ts'

/** Flags of every command that connects to a server. */
export const ENV_FLAG: { readonly '--env <name>': string } = {
  '--env <name>': 'Environment, also --target (default: the selected one)',
}

export interface SessionFlags {
  readonly env?: string
  readonly namespace?: string
}

/** Flags of a session. @param namespace description, such as `Namespace of the topic` */
export function sessionFlags(
  namespace: string,
): typeof ENV_FLAG & { readonly '--namespace <name>': string } {
  return { ...ENV_FLAG, '--namespace <name>': `${namespace} (default: namespace of the login)` }
}

export type SessionCall = Pick<
  CallOptions,
  'timeoutMs' | 'address' | 'metadata' | 'namespace' | 'asText'
>

/** Options of one stream. */
export interface StreamCall extends SessionCall {
  /**
   * Returns the request that continues after the last response, used after a token renewal or a lost connection.
   *
   * @default a stream is reopened only after a token renewal, before its first response, and with a single request
   */
  readonly resume?: () => unknown
  /** Ends the stream without an error, even while it reconnects. */
  readonly stop?: AbortSignal
}

/** Connection of a command to a platform: environment, namespace and login. */
export interface Session {
  readonly environment: Environment
  readonly namespace: string
  /** Logged-in account; empty if anonymous. */
  readonly account: string
  /** Key of the stored credentials. */
  readonly owner: CredentialsOwner
  /** Valid access token; undefined if not logged in, or if the login has expired. */
  readonly token: () => Promise<string | undefined>
  /**
   * Calls an endpoint with the token of the login, which is also sent to a custom `address`.
   *
   * @throws {CliError} with advice, and the status from reference 8.4
   */
  readonly call: <R>(
    service: string,
    endpoint: string,
    request: unknown,
    options?: SessionCall,
  ) => Promise<R>
  /**
   * Like {@link call}, with a stream of responses, requests, or both. Leaving the loop cancels the call. The server
   * ends a stream when its token expires. A stream with `resume` survives a server restart and tries to reconnect for 5
   * minutes.
   *
   * @param requests one request, or an iterable of requests
   */
  readonly stream: <R>(
    service: string,
    endpoint: string,
    requests: unknown,
    options?: StreamCall,
  ) => AsyncGenerator<R, void, undefined>
  /** Like {@link call}, without a token. */
  readonly callAnonymously: Session['call']
  readonly close: () => void
}

/** Returns the client of a session, created on first use. */
type Connect = () => Promise<Client>

/** Response of `Auth.Token`. */
export interface TokenReply {
  readonly token: {
    readonly access_token: string
    readonly refresh_token: string
    readonly expiry: number
  }
}

/** Remaining lifetime below which a token is renewed before use. */
const RENEW_S = 60
/** A stream fails if its token is rejected within this time after a renewal. */
const NEW_MS = 5000

/** @throws {CliError} for an unknown environment */
export function openSession(flags: SessionFlags): Session {
  const environment = findEnvironment(flags.env)
  const config = readConfig()
  const namespace =
    flags.namespace ||
    process.env['MX_NAMESPACE'] ||
    config.get(toNamespaceName(environment)) ||
    DEFAULT_NAMESPACE
  const account = config.get(toAccountName(environment))
  const owner = findOwner(environment, account, [
    namespace,
    config.get(toNamespaceName(environment)),
    DEFAULT_NAMESPACE,
  ])
  let client: Promise<Client> | undefined
  // Loaded on the first call, because help and usage errors do not need it.
  const connect: Connect = () => {
    client ??= import('../../sdk/client/client.ts').then(
      ({ Client }) => new Client({ proxy: environment.address, namespace }),
    )
    return client
  }
  let token: Promise<string | undefined> | undefined

  async function callAs<R>(
    accessToken: string | undefined,
    service: string,
    endpoint: string,
    request: unknown,
    options?: SessionCall,
    isNew = false,
  ): Promise<R> {
    const connected = await connect()
    try {
      return await connected.call<R>(service, endpoint, request, {
        ...options,
        ...withToken(accessToken),
      })
    } catch (error) {
      const next = isNew ? accessToken : await renewRejected(error, accessToken)
      if (next !== accessToken) return callAs(next, service, endpoint, request, options, true)
      const token = accessToken
      throw explainCall(error, { environment, service, endpoint, account, token, isNew })
    }
  }

  /** Renews a token that was rejected. Returns the same token for other errors. */
  async function renewRejected(
    error: unknown,
    accessToken: string | undefined,
  ): Promise<string | undefined> {
    if (accessToken === undefined || !(error instanceof GatewayError && isInvalidToken(error)))
      return accessToken
    token = renew(connect, owner, accessToken)
    return token
  }

  function getToken(): Promise<string | undefined> {
    token ??= renew(connect, owner)
    return token
  }

  async function* stream<R>(
    service: string,
    endpoint: string,
    requests: unknown,
    { resume, stop, ...options }: StreamCall = {},
  ): AsyncGenerator<R, void, undefined> {
    let pending = requests
    let renewedMs = Number.NEGATIVE_INFINITY
    const reconnect = createReconnect(environment.address, stop)
    const connected = await connect()
    for (let accessToken = await getToken(); ; pending = resume?.() ?? pending) {
      let hasStarted = false
      try {
        const callOptions = { ...options, ...withToken(accessToken) }
        const responses = connected.stream<unknown, R>(service, endpoint, pending, callOptions)
        responses.begun().then(reconnect.onOpen, () => {})
        for await (const response of responses) {
          hasStarted = true
          yield response
        }
        return
      } catch (error) {
        if (resume !== undefined && (await reconnect.waitAfter(error))) {
          if (stop?.aborted) return
          continue
        }
        const isNew = !hasStarted && performance.now() - renewedMs < NEW_MS
        const next = isNew ? accessToken : await renewRejected(error, accessToken)
        // An iterable cannot be resumed, because the number of processed requests is unknown.
        const canResume = resume !== undefined || !(hasStarted || isIterable(pending))
        const isRenewed = next !== accessToken && next !== undefined
        if (next === accessToken || !canResume)
          throw explainCall(error, {
            ...{ environment, service, endpoint, account, isRenewed, isNew },
            token: accessToken,
          })
        accessToken = next
        renewedMs = performance.now()
      }
    }
  }

  return {
    environment,
    namespace,
    account,
    owner,
    token: getToken,
    stream,
    call: async (service, endpoint, request, options) =>
      callAs(await getToken(), service, endpoint, request, options),
    callAnonymously: (service, endpoint, request, options) =>
      callAs(undefined, service, endpoint, request, options),
    close: () => void client?.then((connected) => connected.close()),
  }
}

/** Opens a session and closes it after use. @throws {CliError} */
export async function withSession(
  flags: SessionFlags,
  use: (session: Session) => Promise<void>,
): Promise<void> {
  const session = openSession(flags)
  try {
    await use(session)
  } finally {
    session.close()
  }
}

/** True if the service itself returned 404, as opposed to an unknown service. */
export function isNotFound(error: unknown): error is CliError {
  return (
    error instanceof CliError &&
    error.status === EXIT.serviceError &&
    error.cause instanceof GatewayError &&
    error.cause.code === 404
  )
}

function isIterable(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (Symbol.iterator in value || Symbol.asyncIterator in value)
  )
}

/**
 * Finds the first namespace in which the account is logged in, because administrators of the default namespace manage
 * all others.
 */
function findOwner(
  { address }: Environment,
  account: string,
  namespaces: readonly [string, ...string[]],
): CredentialsOwner {
  const owners = namespaces.map((namespace) => ({ address, namespace, account }))
  return owners.find((owner) => readCredentials(owner) !== undefined) ?? owners[0]!
}

/**
 * Returns the token of an account, renewed if it expires soon.
 *
 * @param rejected a token known to be invalid
 * @throws {Error} with a one-line message if there is no valid token and a new one cannot be stored
 */
async function renew(
  connect: Connect,
  owner: CredentialsOwner,
  rejected?: string,
): Promise<string | undefined> {
  const isValid = ({ accessToken, expiry }: Credentials, remainingS: number): boolean =>
    accessToken !== rejected && expiry - Date.now() / 1000 > remainingS
  let credentials = readCredentials(owner)
  if (credentials === undefined || isValid(credentials, RENEW_S)) return credentials?.accessToken
  try {
    // Only one of several shells exchanges the token; the others read the result.
    await changeCredentials(owner, async (stored) => {
      credentials = stored
      if (stored === undefined || isValid(stored, RENEW_S)) return stored
      const next = await exchange(await connect(), stored)
      credentials = next ?? (isValid(stored, 0) ? stored : undefined)
      return credentials
    })
  } catch (error) {
    if (credentials === undefined || !isValid(credentials, 0)) throw error
  }
  return credentials?.accessToken
}

/** Exchanges a refresh token. Returns undefined if the login has expired. */
async function exchange(
  client: Client,
  credentials: Credentials,
): Promise<Credentials | undefined> {
  try {
    const request = { refresh_token: credentials.refreshToken }
    const options = { ...withToken(undefined), timeoutMs: EDIT_MS, retries: 0 }
    return toCredentials(await client.call<TokenReply>('auth', 'Auth.Token', request, options))
  } catch (error) {
    const isExpired = error instanceof GatewayError && (error.code === 400 || error.code === 401)
    return isExpired ? undefined : credentials
  }
}

export function toCredentials({ token }: TokenReply): Credentials {
  const { access_token, refresh_token, expiry } = token
  return { accessToken: access_token, refreshToken: refresh_token, expiry }
}

/** Call context with the token of the login, which overrides the account that services find on this machine. */
function withToken(token: string | undefined) {
  const metadata = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return { context: createContext({ metadata }) }
}
