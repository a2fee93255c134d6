import type { ReloadableVersions } from '../../platform/config/versions/versions.ts'
import { parseServiceError } from '../../sdk/errors.ts'
import { withSession } from '../session/session.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { toUnreachable } from './admin-errors.ts'

type Version = ReturnType<ReloadableVersions['current']>
type Applied = Awaited<ReturnType<ReloadableVersions['apply']>>

/** Client for the configuration of a running gateway. All functions throw {@link CliError}. */
export interface ConfigClient {
  readonly current: () => Promise<Version>
  readonly list: () => Promise<readonly Version[]>
  readonly diff: (text: string) => Promise<Omit<Applied, 'version' | 'file'>>
  /** @param ifMatch ETag of the version to replace */
  readonly apply: (text: string, ifMatch: string) => Promise<Applied>
  /** @param version version number; 0 for the version before the current one */
  readonly rollback: (version: number, ifMatch: string) => Promise<Applied>
}

/** Calls the `api` service of a server. @param env @default the selected environment */
export function createServerClient(env: string | undefined): ConfigClient {
  const call = async <R>(endpoint: string, request: object): Promise<R> => {
    let result: R | undefined
    await withSession(env === undefined ? {} : { env }, async (session) => {
      result = await session.call<R>('api', `Api.${endpoint}`, request)
    })
    return result!
  }
  return {
    current: async () => (await call<{ version: Version }>('Config', {})).version,
    list: async () => (await call<{ versions: Version[] }>('History', {})).versions,
    diff: (text) => call('Diff', { text }),
    apply: (text, ifMatch) => call('Apply', { text, if_match: ifMatch }),
    rollback: (version, ifMatch) => call('Rollback', { version, if_match: ifMatch }),
  }
}

/** Calls the admin server of `mx api`. @param url such as `http://127.0.0.1:8089` */
export function createAdminClient(url: string, token: string): ConfigClient {
  const send = async <R>(
    method: string,
    path: string,
    { ifMatch, body }: { readonly ifMatch?: string; readonly body?: string } = {},
  ): Promise<R> => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    }
    const response = await fetch(`${url}/config${path}`, {
      ...{ method, headers },
      ...(body !== undefined && { body }),
    }).catch((error) => {
      throw toUnreachable(
        url,
        error,
        'Start the gateway with --admin_token, or set --admin_address',
      )
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text) as R
    throw toError(response.status, text, url)
  }
  return {
    current: async () => (await send<{ version: Version }>('GET', '')).version,
    list: async () => (await send<{ versions: Version[] }>('GET', '/history')).versions,
    diff: (body) => send('POST', '/diff', { body }),
    apply: (body, ifMatch) => send('PUT', '', { body, ifMatch }),
    rollback: (version, ifMatch) => send('POST', `/rollback?version=${version}`, { ifMatch }),
  }
}

function toError(status: number, text: string, url: string): CliError {
  // A gateway without admin_token does not serve this path.
  if (status === 404 && !text.startsWith('{'))
    return new CliError(
      `The gateway at ${url} does not accept configurations. Start it with MX_ADMIN_TOKEN`,
      { status: EXIT.serviceError },
    )
  const { message } = parseServiceError(text, 'admin', status)
  return new CliError(message, { status: status === 401 ? EXIT.unauthorized : EXIT.serviceError })
}
