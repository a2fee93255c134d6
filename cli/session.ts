import { GatewayError } from '../core/errors.ts'
import { Client } from '../sdk/client.ts'
import { createContext } from '../sdk/context.ts'
import { DEFAULT_NAMESPACE } from '../sdk/namespace.ts'
import type { CommandLine } from './command-line.ts'
import { type Environment, findEnvironment } from './environments.ts'
import { CliError, EXIT } from './output.ts'
import { readConfig } from './state/config.ts'
import {
  type Credentials,
  type CredentialsOwner,
  readCredentials,
  writeCredentials,
} from './state/tokens.ts'

/** Flags that every command has that calls the platform. */
export const SESSION_FLAGS: { readonly env: 'string'; readonly namespace: 'string' } = {
  env: 'string',
  namespace: 'string',
}

/** A platform as a command has it: the environment, the namespace, and whoever is logged in there. */
export interface Session {
  readonly environment: Environment
  readonly namespace: string
  /** Account that is logged in; empty: nobody. */
  readonly account: string
  /** A token that holds for a while; undefined: nobody is logged in, or no longer. */
  readonly token: () => Promise<string | undefined>
  /**
   * Calls an endpoint of the platform as whoever is logged in.
   *
   * @param timeoutMs milliseconds for the call; Infinity: as long as it takes. @default 10000
   * @throws {CliError} that says what to do, with the status of reference 8.4.
   */
  readonly call: <R>(
    service: string,
    endpoint: string,
    request: object,
    timeoutMs?: number,
  ) => Promise<R>
  /**
   * As {@link call}, with a stream of replies, of requests, or both. Leaving the loop gives the call up.
   *
   * @param requests the only one, or those of an endpoint that takes several.
   */
  readonly stream: <R>(
    service: string,
    endpoint: string,
    requests: object | AsyncIterable<object>,
  ) => AsyncGenerator<R, void, undefined>
  /** As {@link call}, as nobody. */
  readonly callAnonymously: Session['call']
  readonly close: () => void
}

/** What the service `auth` answers to a login. */
export interface TokenReply {
  readonly token: {
    readonly access_token: string
    readonly refresh_token: string
    readonly expiry: number
  }
}

/** A token that ends sooner is exchanged before it is used. */
const RENEW_S = 60

/** Where the name of the account of an environment is remembered. */
export function toAccountName(environment: Environment): string {
  return `${environment.name}.current-user`
}

/** Where the namespace of an environment is remembered. */
export function toNamespaceName(environment: Environment): string {
  return `namespaces.${environment.name}.current`
}

/** @throws {CliError} for an environment that is none. */
export function openSession(flags: CommandLine<typeof SESSION_FLAGS>['flags']): Session {
  const environment = findEnvironment(flags.env)
  const config = readConfig()
  const namespace =
    flags.namespace ||
    process.env['MX_NAMESPACE'] ||
    config.get(toNamespaceName(environment)) ||
    DEFAULT_NAMESPACE
  const account = config.get(toAccountName(environment))
  const owner = { address: environment.address, namespace, account }
  const client = new Client({ proxy: environment.address, namespace })
  let renewing: Promise<string | undefined> | undefined

  async function callAs<R>(
    token: string | undefined,
    service: string,
    endpoint: string,
    request: object,
    timeoutMs?: number,
  ): Promise<R> {
    try {
      const options = { ...withToken(token), ...(timeoutMs !== undefined && { timeoutMs }) }
      return await client.call<R>(service, endpoint, request, options)
    } catch (error) {
      throw explain(error, { environment, service, token })
    }
  }

  function getToken(): Promise<string | undefined> {
    renewing ??= renew(client, owner)
    return renewing
  }

  async function* stream<R>(
    service: string,
    endpoint: string,
    requests: object | AsyncIterable<object>,
  ): AsyncGenerator<R, void, undefined> {
    const token = await getToken()
    try {
      yield* client.stream<object, R>(service, endpoint, requests, withToken(token))
    } catch (error) {
      throw explain(error, { environment, service, token })
    }
  }

  return {
    environment,
    namespace,
    account,
    token: getToken,
    stream,
    call: async (service, endpoint, request, timeoutMs) =>
      callAs(await getToken(), service, endpoint, request, timeoutMs),
    callAnonymously: (service, endpoint, request) => callAs(undefined, service, endpoint, request),
    close: () => client.close(),
  }
}

/** The token of an account, a new one where it ends soon. */
async function renew(client: Client, owner: CredentialsOwner): Promise<string | undefined> {
  if (owner.account === '') return undefined
  const kept = readCredentials(owner)
  if (kept === undefined || kept.expiry - Date.now() / 1000 > RENEW_S) return kept?.accessToken
  try {
    const request = { refresh_token: kept.refreshToken }
    const next = toCredentials(await client.call<TokenReply>('auth', 'Auth.Token', request))
    await writeCredentials(owner, next)
    return next.accessToken
  } catch (error) {
    // Another shell may have exchanged it meanwhile.
    const now = readCredentials(owner)
    if (now !== undefined && now.refreshToken !== kept.refreshToken) return now.accessToken
    if (!(error instanceof GatewayError) || error.code >= 500) return kept.accessToken
    await writeCredentials(owner, undefined)
    return undefined
  }
}

export function toCredentials({ token }: TokenReply): Credentials {
  const { access_token, refresh_token, expiry } = token
  return { accessToken: access_token, refreshToken: refresh_token, expiry }
}

function withToken(token: string | undefined) {
  if (token === undefined) return {}
  return { context: createContext({ metadata: { authorization: `Bearer ${token}` } }) }
}

function explain(
  error: unknown,
  {
    environment,
    service,
    token,
  }: { environment: Environment; service: string; token: string | undefined },
): Error {
  if (!(error instanceof GatewayError)) return error as Error
  const { address, name } = environment
  const { code, message } = error
  if (code === 401) {
    const hint =
      token === undefined
        ? `nobody is logged in to ${name}: mx login`
        : 'this account may not do it'
    return new CliError(`Not authorized to perform this request: ${message} (${hint})`, {
      status: EXIT.unauthorized,
      cause: error,
    })
  }
  if (code === 502 && error.id === service)
    return new CliError(
      `Failed to connect to mx server at ${address}${name === 'local' ? ": start one with 'mx server'" : ''}`,
      { status: EXIT.unreachable, cause: error },
    )
  if (code === 404 && error.id === service)
    return new CliError(`Service "${service}" not found`, {
      status: EXIT.unreachable,
      cause: error,
    })
  if (code === 408) return new CliError('Request timed out', { cause: error })
  return new CliError(message, { status: EXIT.refused, cause: error })
}
