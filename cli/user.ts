import type { CAC } from 'cac'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { runSubcommand, type Subcommand } from './args/subcommands.ts'
import { toNamespaceName } from './session/environments.ts'
import { SESSION_FLAGS, type Session, withSession } from './session/session.ts'
import { readBaseUrl } from './state/base-url.ts'
import { readConfig, writeConfig } from './state/config.ts'
import { OUTPUT_FLAGS, print, printDone, toFormat } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'
import { prompt, promptNewSecret, readInput } from './ui/prompt.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  username: 'string',
  email: 'string',
  old_password: 'string',
  new_password: 'string',
} as const
const HIDDEN = { hidden: true }
/** Where repositories are, and what opens them (reference 7.3). */
const GIT_NAME = /^git\.(?:(?:[A-Za-z0-9][\w-]*\.)?baseurl|credentials)$/
const STANDARD_INPUT = '-'
const NONE = 'n/a'

type UserFlags = CommandLine<typeof FLAGS>['flags']

/** `mx user` and what may follow it (reference 8.5). */
const SUBCOMMANDS: readonly Subcommand<UserFlags>[] = [
  {
    words: '',
    args: [],
    run: (_, flags) => withSession(flags, async (session) => tell(flags, mustBeLoggedIn(session))),
  },
  {
    words: 'token',
    args: [],
    run: (_, flags) =>
      withSession(flags, async (session) => {
        mustBeLoggedIn(session)
        const token = await session.token()
        if (token === undefined)
          throw new CliError('the login has ended: mx login', { status: EXIT.unauthorized })
        await tell(flags, token)
      }),
  },
  {
    words: 'namespace',
    args: [],
    run: (_, flags) => withSession(flags, async ({ namespace }) => tell(flags, namespace)),
  },
  {
    words: 'namespace set',
    args: ['NAME'],
    run: ([name], flags) =>
      withSession(flags, async ({ environment }) => {
        const format = toFormat(flags)
        await writeConfig(toNamespaceName(environment), name!)
        await printDone(format, { namespace: name }, `Namespace ${name} selected`)
      }),
  },
  {
    words: 'config',
    args: [],
    run: (_, flags) =>
      withSession(flags, async (session) => {
        const config = toConfig(session)
        const lines = Object.entries(config).map(([name, value]) => `${name}: ${value || NONE}\n`)
        await print(toFormat(flags), config, lines.join(''))
      }),
  },
  {
    words: 'config set',
    args: ['NAME', 'VALUE'],
    run: async ([name, value], flags) => {
      const format = toFormat(flags)
      if (!GIT_NAME.test(name!))
        throw new CliError(
          `unknown name ${name}, there are git.baseurl, git.<env>.baseurl and git.credentials`,
          { status: EXIT.usage },
        )
      await writeConfig(name!, value === STANDARD_INPUT ? await readInput() : value!)
      await printDone(format, { name }, `${name} was set`)
    },
  },
  {
    words: 'set password',
    args: [],
    run: (_, flags) =>
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
]

/** @throws {CliError} */
export async function runUser(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  await runSubcommand('user', SUBCOMMANDS, words, flags)
}

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
