import type { CAC } from 'cac'
import { DEFAULT_NAMESPACE } from '../sdk/namespace.ts'
import { readCommandLine } from './args/args.ts'
import { toAccountName, toNamespaceName } from './session/environments.ts'
import { openSession, SESSION_FLAGS, type TokenReply, toCredentials } from './session/session.ts'
import { writeConfig } from './state/config.ts'
import { writeCredentials } from './state/tokens.ts'
import { OUTPUT_FLAGS, print, toFormat } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'
import { prompt, readInput } from './ui/prompt.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  username: 'string',
  email: 'string',
  password: 'string',
  password_stdin: 'boolean',
} as const

const STANDARD_INPUT = '-'

/** Logs in, and remembers it for the commands that follow. @throws {CliError} */
export async function logIn(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const { username, email, password, password_stdin = false } = flags
  const ids = [username, email, ...words].filter((id) => id !== undefined)
  if (ids.length > 1)
    throw new CliError(`one account at a time, got ${ids.join(', ')}. See 'mx login --help'`, {
      status: EXIT.usage,
    })
  const isPiped = password_stdin || password === STANDARD_INPUT
  if (password !== undefined && password_stdin)
    throw new CliError('--password and --password_stdin are two passwords: give one', {
      status: EXIT.usage,
    })
  const format = toFormat(flags)
  const session = openSession(flags)
  try {
    const id = ids[0] ?? (await prompt('Enter username: ', '--username'))
    const secret = isPiped
      ? await readInput()
      : (password ?? (await prompt('Enter password: ', '--password', { hidden: true })))
    const { environment, namespace } = session
    const reply = await session
      .callAnonymously<TokenReply>('auth', 'Auth.Token', { id, secret })
      .catch((error: unknown) => {
        throw explainRefusal(error, id, namespace)
      })
    const owner = { address: environment.address, namespace, account: id }
    await writeCredentials(owner, toCredentials(reply))
    await writeConfig(toAccountName(environment), id)
    if (flags.namespace) await writeConfig(toNamespaceName(environment), namespace)
    const done = { account: id, namespace, environment: environment.name }
    await print(format, done, 'Successfully logged in.\n')
  } finally {
    session.close()
  }
}

/** What to do where the password is wrong. The namespace is that of the last login, perhaps, of which nobody thinks. */
function explainRefusal(error: unknown, id: string, namespace: string): unknown {
  if (!(error instanceof CliError) || error.status !== EXIT.unauthorized) return error
  const { message, status } = error
  const isDefault = namespace === DEFAULT_NAMESPACE
  const where = isDefault ? '' : ` in the namespace ${namespace} (--namespace names another)`
  return new CliError(
    `${message}${where}. Administrators set another one: mx auth update secret ${id}`,
    { status, cause: error },
  )
}
