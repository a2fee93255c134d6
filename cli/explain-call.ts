import { isNotTaken } from '../core/auth/authorize.ts'
import { GatewayError } from '../core/errors.ts'
import type { Environment } from './environments.ts'
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
}

/** What a command ends with whose call failed: the texts and statuses of reference 8.4. */
export function explainCall(
  error: unknown,
  { environment, service, endpoint, account, token }: FailedCall,
): Error {
  if (!(error instanceof GatewayError)) return error as Error
  const { address, name } = environment
  const { code, message, id } = error
  const is = (ofService: number, start: string): boolean =>
    code === ofService && id === service && message.startsWith(start)
  if (code === 401) {
    const status = EXIT.unauthorized
    const where = account === '' ? `nobody is logged in to ${name}` : `${account} is not logged in`
    const isUnknown = token === undefined || isNotTaken(error)
    const hint = isUnknown ? `${where}: mx login` : 'this account may not do it'
    return new CliError(`Not authorized to perform this request: ${message} (${hint})`, {
      status,
      cause: error,
    })
  }
  if (is(502, 'bad gateway: the RPC proxy'))
    return new CliError(
      `Failed to connect to mx server at ${address}${name === 'local' ? ": start one with 'mx server'" : ''}`,
      { status: EXIT.unreachable, cause: error },
    )
  if (is(404, 'service not found: '))
    return new CliError(`Service "${service}" not found. See 'mx services'`, {
      status: EXIT.unreachable,
      cause: error,
    })
  if (is(404, 'endpoint not found: '))
    return new CliError(`Service method "${endpoint}" not found. See 'mx ${service} --help'`, {
      status: EXIT.unknownMethod,
      cause: error,
    })
  if (code === 408) return new CliError('Request timed out', { cause: error })
  return new CliError(message, { status: EXIT.refused, cause: error })
}
