import type { FlagsOf } from '../../args/args.ts'
import { type Command, defineCommand } from '../../command.ts'
import { toNamespaceName } from '../../session/environments.ts'
import { type Session, sessionFlags, withSession } from '../../session/session.ts'
import { readBaseUrl } from '../../state/base-url.ts'
import { readConfig, writeConfig } from '../../state/config.ts'
import { OUTPUT_FLAGS, print, printDone, toFormat } from '../../ui/format.ts'
import { CliError, EXIT } from '../../ui/output.ts'
import { prompt, promptNewSecret, readInput } from '../../ui/prompt.ts'

const FLAGS = {
  ...OUTPUT_FLAGS,
  ...sessionFlags('Namespace of the account'),
  '--username <id>': 'set password: account (default: the logged-in account)',
  '--email <id>': 'Alias of --username',
  '--old_password <password>': 'set password: current password (default: prompt)',
  '--new_password <password>':
    'set password: new password, or - to read it from standard input (default: prompt)',
}
const HIDDEN = { hidden: true }
/** Names of repository addresses and credentials (reference 7.3). */
const GIT_NAME = /^git\.(?:(?:[A-Za-z0-9][\w-]*\.)?baseurl|credentials)$/
const STANDARD_INPUT = '-'
const NONE = 'n/a'

type UserFlags = FlagsOf<typeof FLAGS>

const command: Command = defineCommand({
  name: 'user',
  description: 'Show the logged-in account, its token and its namespace',
  flags: FLAGS,
  examples: [
    'mx user config set git.baseurl github.com/<owner>',
    'mx user config set git.credentials - < token',
    'curl -H "Authorization: Bearer $(mx user token)" 127.0.0.1:8080/store/list',
  ],
  subcommands: {
    '': (_, flags) =>
      withSession(flags, async (session) => printValue(flags, mustBeLoggedIn(session))),
    token: (_, flags) =>
      withSession(flags, async (session) => {
        mustBeLoggedIn(session)
        const token = await session.token()
        if (token === undefined)
          throw new CliError("login expired. Log in again: 'mx login'", {
            status: EXIT.unauthorized,
          })
        await printValue(flags, token)
      }),
    namespace: (_, flags) =>
      withSession(flags, async ({ namespace }) => printValue(flags, namespace)),
    'namespace set <name>': ([name], flags) =>
      withSession(flags, async ({ environment }) => {
        const format = toFormat(flags)
        await writeConfig(toNamespaceName(environment), name)
        await printDone(format, { namespace: name }, `Namespace ${name} selected`)
      }),
    config: (_, flags) =>
      withSession(flags, async (session) => {
        const config = toConfig(session)
        const lines = Object.entries(config).map(([name, value]) => `${name}: ${value || NONE}\n`)
        await print(toFormat(flags), config, lines.join(''))
      }),
    'config set <name> <value>': async ([name, value], flags) => {
      const format = toFormat(flags)
      if (!GIT_NAME.test(name))
        throw new CliError(
          `unknown name ${name}, expected git.baseurl, git.<env>.baseurl or git.credentials`,
          { status: EXIT.usage },
        )
      await writeConfig(name, value === STANDARD_INPUT ? await readInput() : value!)
      await printDone(format, { name }, `${name} was set`)
    },
    'set password': (_, flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const caller = mustBeLoggedIn(session)
        const id = flags.username ?? flags.email ?? caller
        const old_secret =
          flags.old_password ?? (await prompt('Enter current password: ', '--old_password', HIDDEN))
        const new_secret =
          flags.new_password === STANDARD_INPUT
            ? await readInput()
            : (flags.new_password ?? (await promptNewSecret('password', '--new_password')))
        const { namespace } = session.owner
        const request = { id, old_secret, new_secret, options: { namespace } }
        // The account exists only in its own namespace, whichever is selected.
        await session.call('auth', 'Accounts.ChangeSecret', request, { namespace })
        const hint = id === caller ? ', log in again' : ''
        await print(format, { id }, `Password changed${hint}\n`)
      }),
  },
})

export default command

/** Configuration of the CLI (reference 8.5) with secrets masked. */
function toConfig({ account, namespace, environment }: Session): Readonly<Record<string, string>> {
  return {
    ...{ user: account, namespace, environment: environment.name },
    'git.credentials': readConfig().get('git.credentials') && '[secret]',
    'git.baseurl': readBaseUrl(environment),
  }
}

/** Returns the account. @throws {CliError} */
function mustBeLoggedIn({ account, environment }: Session): string {
  if (account !== '') return account
  throw new CliError(`not logged in to ${environment.name}. Log in with 'mx login'`, {
    status: EXIT.unauthorized,
  })
}

async function printValue(flags: UserFlags, value: string): Promise<void> {
  await print(toFormat(flags), value, `${value}\n`)
}
