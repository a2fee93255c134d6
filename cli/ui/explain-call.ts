import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import { GatewayError } from '../../core/errors.ts'
import { isBuiltInService } from '../../core/registry/built-in-services.ts'
import type { Environment } from '../session/environments.ts'
import { findReason } from './explain-connection.ts'
import { CliError, EXIT } from './output.ts'

export interface FailedCall {
  readonly environment: Environment
  readonly service: string
  readonly endpoint: string
  /** Logged-in account; empty if anonymous. */
  readonly account: string
  /** Token sent with the call, if any. */
  readonly token: string | undefined
  /** True if the token was renewed after the call started. @default false */
  readonly isRenewed?: boolean
  /** True if the token was renewed just before the call. @default false */
  readonly isNew?: boolean
}

/** Error message of the `auth` service for a wrong password. */
const WRONG_SECRET = 'Secret not correct'
/** Advice for an unreachable local server. */
const START_HINT =
  ": start it with 'mx server', or, if it uses another --proxy_address, run 'mx env add local <host:port>'"

/** Converts a failed call to the error of a command, with advice (messages and exit statuses: reference 8.4). */
export function explainCall(error: unknown, call: FailedCall): Error {
  if (!(error instanceof GatewayError)) return error as Error
  const [status, message] = toExit(error, call)
  return new CliError(message, { status, cause: error })
}

function toExit(
  error: GatewayError,
  { environment, service, endpoint, account, token, isRenewed = false, isNew = false }: FailedCall,
): readonly [status: number, message: string] {
  const { code, message, id } = error
  const { name } = environment
  const matches = (serviceCode: number, start: string): boolean =>
    code === serviceCode && id === service && message.startsWith(start)
  if (service === 'auth' && code === 400 && message.startsWith(WRONG_SECRET))
    return [EXIT.unauthorized, message]
  if (code === 401 && isRenewed)
    return [EXIT.unauthorized, 'The stream ended because its token expired. Run the command again']
  if (code === 401) {
    const subject = account === '' ? `not logged in to ${name}` : `${account} is not logged in`
    const needsLogin = token === undefined || isInvalidToken(error)
    const hint = needsLogin ? `${subject}: mx login` : 'the account lacks permission'
    if (token !== undefined && isNew && isInvalidToken(error))
      return [
        EXIT.unauthorized,
        `Not authorized to perform this request: the server of ${service} rejects tokens from ${name} because its signing key or clock differs (mx doctor)`,
      ]
    return [EXIT.unauthorized, `Not authorized to perform this request: ${message} (${hint})`]
  }
  if (matches(502, 'bad gateway: ') && message.includes('the RPC proxy'))
    return [EXIT.unreachable, describeUnreachable(error, environment)]
  if (matches(404, 'service not found: '))
    return [EXIT.unreachable, `Service "${service}" not found. See 'mx services'`]
  if (matches(404, 'endpoint not found: '))
    return [
      EXIT.unknownMethod,
      `Service method "${endpoint}" not found. See 'mx ${service} --help'`,
    ]
  if (code === 400 && message.startsWith(`${endpoint} responds with a stream`))
    return [
      EXIT.serviceError,
      `${endpoint} responds with a stream: 'mx stream ${service} ${endpoint}' prints it`,
    ]
  if (code === 408) return [EXIT.failed, `Request timed out. ${toLogHint(service)}`]
  if (code === 500) return [EXIT.serviceError, `${message}. ${toLogHint(service)}`]
  return [EXIT.serviceError, message]
}

/** Describes an unreachable server. Advises starting one only if none is listening. */
function describeUnreachable(error: GatewayError, { name, address }: Environment): string {
  const isLocal = name === 'local'
  const target = isLocal ? address : `${address}, the address of ${name}`
  if (error.message.endsWith('closed the connection'))
    return `Connection to mx server at ${target} was lost`
  const reason = findReason(error, address)
  const details = reason === undefined ? '' : `: ${reason}`
  const advice = isLocal && reason === undefined ? START_HINT : ''
  return `Failed to connect to mx server at ${target}${details}${advice}${isLocal ? '' : ". See 'mx env'"}`
}

function toLogHint(service: string): string {
  return isBuiltInService(service) ? 'See the log of the server' : `See 'mx logs ${service}'`
}
