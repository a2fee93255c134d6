import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import { GatewayError } from '../../core/errors.ts'
import { isOfPlatform } from '../../core/registry/built-in-services.ts'
import type { Environment } from '../session/environments.ts'
import { findReason } from './explain-connection.ts'
import { CliError, EXIT } from './output.ts'

/** A call that failed. */
export interface FailedCall {
  readonly environment: Environment
  readonly service: string
  readonly endpoint: string
  /** Empty: nobody. */
  readonly account: string
  /** That was shown; undefined: none. */
  readonly token: string | undefined
  /** There is another one by now. @default false */
  readonly isRenewed?: boolean
  /** The token was renewed just before. @default false */
  readonly isNew?: boolean
}

/** What the service `auth` says of a wrong password. */
const WRONG_SECRET = 'Secret not correct'
/** What to do where nobody is. */
const START =
  ": start one with 'mx server', or, if one has another --proxy_address, 'mx env add local <host:port>'"

/** What a command ends with whose call failed: the texts and statuses of reference 8.4, and what to do next. */
export function explainCall(error: unknown, call: FailedCall): Error {
  if (!(error instanceof GatewayError)) return error as Error
  const [status, message] = toEnd(error, call)
  return new CliError(message, { status, cause: error })
}

function toEnd(
  error: GatewayError,
  { environment, service, endpoint, account, token, isRenewed = false, isNew = false }: FailedCall,
): readonly [status: number, message: string] {
  const { code, message, id } = error
  const { name } = environment
  const is = (ofService: number, start: string): boolean =>
    code === ofService && id === service && message.startsWith(start)
  if (service === 'auth' && code === 400 && message.startsWith(WRONG_SECRET))
    return [EXIT.unauthorized, message]
  if (code === 401 && isRenewed)
    return [
      EXIT.unauthorized,
      'It ended with the token it began with, and there is another one by now: begin it again',
    ]
  if (code === 401) {
    const where = account === '' ? `nobody is logged in to ${name}` : `${account} is not logged in`
    const isUnknown = token === undefined || isInvalidToken(error)
    const hint = isUnknown ? `${where}: mx login` : 'this account may not do it'
    if (token !== undefined && isNew && isInvalidToken(error))
      return [
        EXIT.unauthorized,
        `Not authorized to perform this request: the server that has ${service} does not take tokens of ${name}: it has another signing key, or another time (mx doctor)`,
      ]
    return [EXIT.unauthorized, `Not authorized to perform this request: ${message} (${hint})`]
  }
  if (is(502, 'bad gateway: ') && message.includes('the RPC proxy'))
    return [EXIT.unreachable, toUnreachable(error, environment)]
  if (is(404, 'service not found: '))
    return [EXIT.unreachable, `Service "${service}" not found. See 'mx services'`]
  if (is(404, 'endpoint not found: '))
    return [
      EXIT.unknownMethod,
      `Service method "${endpoint}" not found. See 'mx ${service} --help'`,
    ]
  if (code === 400 && message.startsWith(`${endpoint} responds with a stream`))
    return [
      EXIT.refused,
      `${endpoint} answers with a stream: 'mx stream ${service} ${endpoint}' prints it`,
    ]
  if (code === 408) return [EXIT.failed, `Request timed out. ${toLog(service)}`]
  if (code === 500) return [EXIT.refused, `${message}. ${toLog(service)}`]
  return [EXIT.refused, message]
}

/** What to do is not to start a server where one is there that cannot be talked to. */
function toUnreachable(error: GatewayError, { name, address }: Environment): string {
  const isLocal = name === 'local'
  const where = isLocal ? address : `${address}, the address of ${name}`
  if (error.message.endsWith('closed the connection'))
    return `Connection to mx server at ${where} was lost`
  const reason = findReason(error, address)
  const why = reason === undefined ? '' : `: ${reason}`
  const advice = isLocal && reason === undefined ? START : ''
  return `Failed to connect to mx server at ${where}${why}${advice}${isLocal ? '' : ". See 'mx env'"}`
}

/** Where it may be told what was wrong. */
function toLog(service: string): string {
  return isOfPlatform(service) ? 'See the log of the server' : `See 'mx logs ${service}'`
}
