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

/** Flag of every command that talks to a server. */
export const ENV_FLAG: { readonly '--env <name>': string } = {
  '--env <name>': 'Environment (default: the selected one)',
}

export interface SessionFlags {
  readonly env?: string
  readonly namespace?: string
}

/** Flags of a session. @param namespace description, such as `Namespace of the topic` */
export function sessionFlags(
  namespace: string,
): typeof ENV_FLAG & { readonly '--namespace <name>': string } {
  return { ...ENV_FLAG, '--namespace <name>': `${namespace} (default: that of the login)` }
}

/** How one call is made, where that is not as usual. */
export type SessionCall = Pick<
  CallOptions,
  'timeoutMs' | 'address' | 'metadata' | 'namespace' | 'asText'
>

/** How one stream is opened. */
export interface StreamCall extends SessionCall {
  /**
   * Returns the request that continues behind the last reply: after a renewed token, and after a lost connection.
   *
   * @default a stream is opened again only for a renewed token, before its first reply, and with a single request
   */
  readonly resume?: () => unknown
  /** Ends the stream in order while it reconnects. */
  readonly stop?: AbortSignal
}

/** A platform as a command has it: the environment, the namespace, and whoever is logged in there. */
export interface Session {
  readonly environment: Environment
  /** That commands are about. */
  readonly namespace: string
  /** Account that is logged in; empty: nobody. */
  readonly account: string
  /** Where its login is kept. */
  readonly owner: CredentialsOwner
  /** A token that holds for a while; undefined: nobody is logged in, or no longer. */
  readonly token: () => Promise<string | undefined>
  /**
   * Calls an endpoint of the platform as whoever is logged in. Whatever is at an address of its own is shown the login, too.
   *
   * @throws {CliError} that says what to do, with the status of reference 8.4.
   */
  readonly call: <R>(
    service: string,
    endpoint: string,
    request: unknown,
    options?: SessionCall,
  ) => Promise<R>
  /**
   * As {@link call}, with a stream of replies, of requests, or both. Leaving the loop gives the call up. The server ends it with the token it began with.
   * A stream with `resume` survives a restart of the server: it reconnects for 5 minutes after its connection was lost.
   *
   * @param requests the only one, or those of an endpoint that takes several.
   */
  readonly stream: <R>(
    service: string,
    endpoint: string,
    requests: unknown,
    options?: StreamCall,
  ) => AsyncGenerator<R, void, undefined>
  /** As {@link call}, as nobody. */
  readonly callAnonymously: Session['call']
  readonly close: () => void
}

/** Returns the client of a session, which its first call creates. */
type Connect = () => Promise<Client>

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
/** A stream whose token is refused so soon after that was renewed is not helped by another. */
const NEW_MS = 5000

/** @throws {CliError} for an environment that is none. */
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
  // Loaded for the first call: help and usage errors do not need it.
  const connect: Connect = () => {
    client ??= import('../../sdk/client/client.ts').then(
      ({ Client }) => new Client({ proxy: environment.address, namespace }),
    )
    return client
  }
  let token: Promise<string | undefined> | undefined

  async function callAs<R>(
    shown: string | undefined,
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
        ...withToken(shown),
      })
    } catch (error) {
      const next = isNew ? shown : await renewRefused(error, shown)
      if (next !== shown) return callAs(next, service, endpoint, request, options, true)
      throw explainCall(error, { environment, service, endpoint, account, token: shown, isNew })
    }
  }

  /** Another token where an error says that this one is not taken any more; the same where there is no other. */
  async function renewRefused(
    error: unknown,
    shown: string | undefined,
  ): Promise<string | undefined> {
    if (shown === undefined || !(error instanceof GatewayError && isInvalidToken(error)))
      return shown
    token = renew(connect, owner, shown)
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
    let asked = requests
    let renewedMs = Number.NEGATIVE_INFINITY
    const reconnect = createReconnect(environment.address, stop)
    const connected = await connect()
    for (let shown = await getToken(); ; asked = resume === undefined ? asked : resume()) {
      let hasBegun = false
      try {
        const how = { ...options, ...withToken(shown) }
        const replies = connected.stream<unknown, R>(service, endpoint, asked, how)
        replies.begun().then(reconnect.onOpen, () => {})
        for await (const reply of replies) {
          hasBegun = true
          yield reply
        }
        return
      } catch (error) {
        if (resume !== undefined && (await reconnect.waitAfter(error))) {
          if (stop?.aborted) return
          continue
        }
        const isNew = !hasBegun && performance.now() - renewedMs < NEW_MS
        const next = isNew ? shown : await renewRefused(error, shown)
        // Of several requests nobody knows how many were taken.
        const mayGoOn = resume !== undefined || !(hasBegun || isIterable(asked))
        const isRenewed = next !== shown && next !== undefined
        if (next === shown || !mayGoOn)
          throw explainCall(error, {
            ...{ environment, service, endpoint, account, isRenewed, isNew },
            token: shown,
          })
        shown = next
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

/** Opens a session for as long as it is used. @throws {CliError} */
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

/** Whether a service said that there is no such thing, rather than that there is no such service. */
export function isNotFound(error: unknown): error is CliError {
  return (
    error instanceof CliError &&
    error.status === EXIT.refused &&
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

/** The first of some namespaces where the account is logged in: who administers the platform does so in all of them. */
function findOwner(
  { address }: Environment,
  account: string,
  namespaces: readonly [string, ...string[]],
): CredentialsOwner {
  const owners = namespaces.map((namespace) => ({ address, namespace, account }))
  return owners.find((owner) => readCredentials(owner) !== undefined) ?? owners[0]!
}

/**
 * The token of an account, a new one where it ends soon and a new one can be had and kept.
 *
 * @param refused one that is good for nothing.
 * @throws {Error} in one line when there is none that holds, and a new one could not be kept.
 */
async function renew(
  connect: Connect,
  owner: CredentialsOwner,
  refused?: string,
): Promise<string | undefined> {
  const holds = ({ accessToken, expiry }: Credentials, forS: number): boolean =>
    accessToken !== refused && expiry - Date.now() / 1000 > forS
  let kept = readCredentials(owner)
  if (kept === undefined || holds(kept, RENEW_S)) return kept?.accessToken
  try {
    // Of several shells one exchanges it, and the others use what it got.
    await changeCredentials(owner, async (now) => {
      kept = now
      if (now === undefined || holds(now, RENEW_S)) return now
      const next = await exchange(await connect(), now)
      kept = next ?? (holds(now, 0) ? now : undefined)
      return kept
    })
  } catch (error) {
    if (kept === undefined || !holds(kept, 0)) throw error
  }
  return kept?.accessToken
}

/** Undefined: the login has ended. */
async function exchange(client: Client, kept: Credentials): Promise<Credentials | undefined> {
  try {
    const request = { refresh_token: kept.refreshToken }
    const options = { ...withToken(undefined), timeoutMs: EDIT_MS, retries: 0 }
    return toCredentials(await client.call<TokenReply>('auth', 'Auth.Token', request, options))
  } catch (error) {
    const hasEnded = error instanceof GatewayError && (error.code === 400 || error.code === 401)
    return hasEnded ? undefined : kept
  }
}

export function toCredentials({ token }: TokenReply): Credentials {
  const { access_token, refresh_token, expiry } = token
  return { accessToken: access_token, refreshToken: refresh_token, expiry }
}

/** Whose call it is: nobody's but that of who logged in, whatever services find on this machine. */
function withToken(token: string | undefined) {
  const metadata = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return { context: createContext({ metadata }) }
}
