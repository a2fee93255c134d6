import { existsSync } from 'node:fs'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { type Command, defineCommand } from '../../command.ts'
import { toAccountName, toNamespaceName } from '../../session/environments.ts'
import {
  ENV_FLAG,
  openSession,
  type Session,
  type TokenReply,
  toCredentials,
} from '../../session/session.ts'
import { writeConfig } from '../../state/config.ts'
import { toStatePath } from '../../state/state-file.ts'
import { writeCredentials } from '../../state/tokens.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError, EXIT, usageError } from '../../ui/output.ts'
import { prompt, readInput } from '../../ui/prompt.ts'

const STANDARD_INPUT = '-'

const command: Command = defineCommand({
  name: 'login',
  description: 'Log in to an environment',
  usage: '[id]',
  flags: {
    '--username <id>': 'Account to log in as',
    '--email <id>': 'Alias of --username',
    '--password <password>':
      'Password (visible to other users of this machine), or - to read it from standard input',
    '--password_stdin': 'Read the password from standard input',
    ...OUTPUT_FLAGS,
    ...ENV_FLAG,
    '--namespace <name>':
      'Namespace of the account (default: namespace of the last login, else mx)',
  },
  examples: ['mx login admin', 'mx login admin --env staging --password_stdin < password.txt'],
  async run(words, flags) {
    const { username, email, password, password_stdin = false } = flags
    const ids = [username, email, ...words].filter((id) => id !== undefined)
    if (ids.length > 1) throw usageError('login', `expected one account, got ${ids.join(', ')}`)
    const isPiped = password_stdin || password === STANDARD_INPUT
    if (password !== undefined && password_stdin)
      throw new CliError('--password and --password_stdin cannot be combined', {
        status: EXIT.usage,
      })
    const format = toFormat(flags)
    const session = openSession(flags)
    try {
      const id = ids[0] ?? (await prompt('Enter username: ', '--username'))
      const secret = isPiped
        ? await readInput()
        : (password ??
          (await prompt('Enter password: ', '--password or --password_stdin', { hidden: true })))
      const { environment, namespace } = session
      for (const [value, label] of [
        [id, 'user name'],
        [secret, 'password'],
      ])
        if (value === '') throw usageError('login', `the ${label} is empty`)
      const response = await session
        .callAnonymously<TokenReply>('auth', 'Auth.Token', { id, secret })
        .catch((error: unknown) => {
          throw explainDenied(error, id, session)
        })
      const owner = { address: environment.address, namespace, account: id }
      await writeCredentials(owner, toCredentials(response))
      await writeConfig(toAccountName(environment), id)
      if (flags.namespace) await writeConfig(toNamespaceName(environment), namespace)
      const result = { account: id, namespace, environment: environment.name }
      await print(format, result, 'Successfully logged in.\n')
    } finally {
      session.close()
    }
  },
})

export default command

/** Advice for finding or replacing the admin password of a local server. */
function toLocalAdvice(): string {
  const file = toStatePath('admin_password')
  const first = existsSync(file) ? `The initial password is in ${file}. ` : ''
  return `${first}'mx auth reset' sets a new password while the server is stopped`
}

/**
 * Adds advice to the error for a wrong password. The message contains the namespace, because the namespace of the last
 * login is the default, which may be unexpected.
 */
function explainDenied(
  error: unknown,
  id: string,
  { environment, namespace }: Pick<Session, 'environment' | 'namespace'>,
): unknown {
  if (!(error instanceof CliError) || error.status !== EXIT.unauthorized) return error
  const { message, status } = error
  const isDefault = namespace === DEFAULT_NAMESPACE
  if (isDefault && id === 'admin' && environment.name === 'local')
    return new CliError(`${message}. ${toLocalAdvice()}`, { status, cause: error })
  const namespaceHint = isDefault
    ? ''
    : ` in the namespace ${namespace} (select another with --namespace)`
  return new CliError(
    `${message}${namespaceHint}. An administrator can reset it: mx auth update secret ${id}`,
    { status, cause: error },
  )
}
