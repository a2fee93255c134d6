import { CliError, EXIT } from '../ui/output.ts'

/** Error for an unreachable admin address. @param hint advice on what to change */
export function toUnreachable(
  url: string,
  error: unknown,
  hint = 'Set --admin to the admin_address of the gateway',
): CliError {
  const { message, cause } = error as Error
  const reason = cause instanceof Error ? cause.message : message
  return new CliError(`The admin address ${url} is not available: ${reason}. ${hint}`, {
    status: EXIT.unreachable,
    cause: error,
  })
}
