import type { FlagsOf } from '../args/args.ts'
import { type Command, defineCommand } from '../command.ts'
import { toNamespaceName } from '../session/environments.ts'
import { type Session, sessionFlags, withSession } from '../session/session.ts'
import { readBaseUrl } from '../state/base-url.ts'
import { readConfig, writeConfig } from '../state/config.ts'
import { OUTPUT_FLAGS, print, printDone, toFormat } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { prompt, promptNewSecret, readInput } from '../ui/prompt.ts'

const FLAGS = {
  ...OUTPUT_FLAGS,
  ...sessionFlags('Namespace of the account'),
  '--username <id>': 'Of set password: whose (default: who is logged in)',
  '--email <id>': 'The same as --username',
  '--old_password <password>': 'For set password; asked for where it is missing',
  '--new_password <password>': 'For set password; asked for where it is missing',
}
const HIDDEN = { hidden: true }
/** Where repositories are, and what opens them (reference 7.3). */
const GIT_NAME = /^git\.(?:(?:[A-Za-z0-9][\w-]*\.)?baseurl|credentials)$/
const STANDARD_INPUT = '-'
const NONE = 'n/a'

type UserFlags = FlagsOf<typeof FLAGS>

const command: Command = defineCommand({
  name: 'user',
  description: 'Show who is logged in, a token, the namespace',
  flags: FLAGS,
  examples: [
    'mx user config set git.baseurl github.com/<owner>',
    'mx user config set git.credentials - < token',
    'curl -H "Authorization: Bearer $(mx user token)" 127.0.0.1:8080/store/list',
  ],
  subcommands: {
    '': (_, flags) => withSession(flags, async (session) => tell(flags, mustBeLoggedIn(session))),
    token: (_, flags) =>
      withSession(flags, async (session) => {
        mustBeLoggedIn(session)
        const token = await session.token()
        if (token === undefined)
          throw new CliError('the login has ended: mx login', { status: EXIT.unauthorized })
        await tell(flags, token)
      }),
    namespace: (_, flags) => withSession(flags, async ({ namespace }) => tell(flags, namespace)),
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
          `unknown name ${name}, there are git.baseurl, git.<env>.baseurl and git.credentials`,
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
        // Whatever namespace is selected: in another one the account is nobody.
        await session.call('auth', 'Accounts.ChangeSecret', request, { namespace })
        const hint = id === caller ? ', log in again' : ''
        await print(format, { id }, `Password changed${hint}\n`)
      }),
  },
})

export default command

/** What commands go by (reference 8.5); of a secret only whether there is one. */
function toConfig({ account, namespace, environment }: Session): Readonly<Record<string, string>> {
  return {
    ...{ user: account, namespace, environment: environment.name },
    'git.credentials': readConfig().get('git.credentials') && '[secret]',
    'git.baseurl': readBaseUrl(environment),
  }
}

/** The account. */
function mustBeLoggedIn({ account, environment }: Session): string {
  if (account !== '') return account
  throw new CliError(`nobody is logged in to ${environment.name}: mx login`, {
    status: EXIT.unauthorized,
  })
}

/** Writes a word. */
async function tell(flags: UserFlags, word: string): Promise<void> {
  await print(toFormat(flags), word, `${word}\n`)
}
