import { GatewayError } from '../../../core/errors.ts'
import type { FlagsOf } from '../../args/args.ts'
import { parseExpiry } from '../../args/expiry.ts'
import { createKey, deleteKey, listKeys, rotateKey } from '../../auth/keys.ts'
import { type Command, defineCommand } from '../../command.ts'
import { openSession, type Session, sessionFlags, type TokenReply } from '../../session/session.ts'
import { type Format, OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError, EXIT, printProblems, usageError } from '../../ui/output.ts'
import { prompt, promptNewSecret, readInput } from '../../ui/prompt.ts'
import { formatTable } from '../../ui/table.ts'

const FLAGS = {
  ...sessionFlags('Namespace of accounts and rules'),
  '--scope <scope>': 'create rule: <public>, * or an account scope (default: <public>)',
  '--resource <type:name:endpoint>': 'create rule: resource, such as service:helloworld:*',
  '--access <granted|denied>': 'create rule: effect (default: granted)',
  '--priority <n>': 'create rule: rules with a higher priority apply first (default: 0)',
  '--scopes <a,b>': 'create account, create key: scopes',
  '--secret <secret>':
    'create account, create token: secret of the account, or - to read it from standard input (default: random for a new account)',
  '-e, --expiry <duration>':
    'create token: lifetime, up to 1h (default: 15m); create key: lifetime, such as 90d (default: unlimited)',
  '--grace <duration>': 'rotate key: time for which the old key stays valid (default: 24h)',
  '--day_limit <n>': 'create key: requests per UTC day for the quota plugin (default: unlimited)',
  '--month_limit <n>':
    'create key: requests per UTC month for the quota plugin (default: unlimited)',
  '--old_secret <secret>': 'update secret: current secret; optional for administrators',
  '--new_secret <secret>':
    'update secret: new secret, or - to read it from standard input (default: prompt)',
  '--type <user|service>': 'create account: type (default: user)',
  '--account <id>':
    'test: calling account (default: anonymous); create key, list keys: owner (default: your account; list keys: * for all)',
  '--domain <name>': 'test: namespace of the service (default: mx)',
  '--force': 'Apply changes that limit login to operators or revoke your right to change rules',
  '--data_dir <folder>':
    'reset: data folder of a stopped server; reset accepts the flags of mx server (default: ~/.mx/server)',
  ...OUTPUT_FLAGS,
}
type AuthFlags = FlagsOf<typeof FLAGS>

interface Rule {
  readonly id: string
  readonly scope: string
  readonly access: string
  readonly resource: { readonly type: string; readonly name: string; readonly endpoint: string }
  readonly priority: number
}

interface Account {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
}

interface NewAccount extends Account {
  readonly secret: string
}

interface AccountPage {
  readonly accounts: readonly Account[]
  /** Id that starts the next page; absent on the last page. */
  readonly next?: string
}

interface TestedCall {
  readonly granted: boolean
  readonly rule?: Rule
  /** Namespace of the rules that apply. */
  readonly namespace: string
  readonly warning?: string
}

type AuthSession = Session & { readonly format: Format; readonly options: object }

const STANDARD_INPUT = '-'
const PUBLIC = '<public>'
const NONE = 'n/a'

const command: Command = defineCommand({
  name: 'auth',
  description: 'Manage accounts, API keys and rules',
  sharesServiceName: true,
  flags: FLAGS,
  examples: [
    "mx auth create rule --scope='*' --resource='*:*:*' onlyloggedin",
    'mx auth reset --data_dir=/var/lib/mx',
    'TOKEN=$(mx auth create token reports --secret - --expiry 1h < secret.txt)',
    'mx auth create key ci --scopes=deploy --expiry=90d',
  ],
  subcommands: {
    'list rules': (_, flags) =>
      withSession(flags, async ({ call, options, format }) => {
        const { rules } = await call<{ rules: Rule[] }>('auth', 'Rules.List', { options })
        const rows = [...rules].sort(compareRules).map(toRow)
        await print(
          format,
          rules,
          formatTable([['ID', 'Scope', 'Access', 'Resource', 'Priority'], ...rows], 1),
        )
      }),
    'list accounts': (_, flags) =>
      withSession(flags, async ({ call, options, format }) => {
        const accounts: Account[] = []
        for (let after: string | undefined = ''; after !== undefined; ) {
          const request = { options, after }
          const page: AccountPage = await call('auth', 'Accounts.List', request)
          accounts.push(...page.accounts)
          after = page.next
        }
        const rows = accounts.map(({ id, name, scopes, metadata }) => [
          id,
          name,
          scopes.join(',') || NONE,
          Object.entries(metadata ?? {})
            .map(([key, value]) => `${key}=${value}`)
            .join(',') || NONE,
        ])
        await print(
          format,
          accounts,
          formatTable([['ID', 'Name', 'Scopes', 'Metadata'], ...rows], 1),
        )
      }),
    'create rule <id>': ([id], flags) =>
      withSession(flags, async ({ call, options, format }) => {
        const { scope = PUBLIC, force = false } = flags
        const rule: Rule = {
          id: id,
          scope: scope === PUBLIC ? '' : scope,
          access: toAccess(flags.access ?? 'granted'),
          resource: toResource(flags.resource),
          priority: toPriority(flags.priority ?? '0'),
        }
        const { warning } = await changeRules(call, 'Rules.Create', { rule, options }, force)
        await print(format, rule, 'Rule created\n')
        warn(warning)
      }),
    'create account <id>': ([id], flags) =>
      withSession(flags, async ({ call, options, format }) => {
        const scopes = (flags.scopes ?? '').split(',').filter((scope) => scope !== '')
        const { type = 'user' } = flags
        const input = (await readSecret(flags.secret)) ?? ''
        const request = { id, type, scopes, secret: input, options }
        const { account } = await call<{ account: NewAccount }>('auth', 'Auth.Generate', request)
        const { secret, ...rest } = account
        // A secret passed by the caller is not printed, because scripts would log it.
        const created = input === '' ? { ...rest, secret } : rest
        await print(format, created, `Account created: ${JSON.stringify(created)}\n`)
      }),
    'create token <id>': ([id], flags) =>
      withSession(flags, async ({ callAnonymously, options, format }) => {
        const input = await readSecret(flags.secret)
        const secret = input ?? (await prompt('Enter secret: ', '--secret', { hidden: true }))
        const request = { id, secret, token_expiry: toSeconds(flags.expiry), options }
        const { token } = await callAnonymously<TokenReply>('auth', 'Auth.Token', request)
        await print(format, token, `${token.access_token}\n`)
      }),
    'create key <name>': ([name], flags) =>
      withSession(flags, (session) => createKey(session, name, flags)),
    'list keys': (_, flags) => withSession(flags, (session) => listKeys(session, flags)),
    'rotate key <id>': ([id], flags) =>
      withSession(flags, (session) => rotateKey(session, id, flags)),
    'delete key <id>': ([id], flags) => withSession(flags, (session) => deleteKey(session, id)),
    'update secret <id>': ([id], flags) =>
      withSession(flags, async ({ call, options, format }) => {
        const { old_secret = '' } = flags
        const input = await readSecret(flags.new_secret)
        const new_secret = input ?? (await promptNewSecret('secret', '--new_secret'))
        await call('auth', 'Accounts.ChangeSecret', { id, old_secret, new_secret, options })
        await print(format, { id }, 'Secret updated\n')
      }),
    'delete rule <id>': ([id], flags) =>
      withSession(flags, async ({ call, options, format }) => {
        await changeRules(call, 'Rules.Delete', { id, options }, flags.force ?? false)
        await print(format, { id }, 'Rule deleted\n')
      }),
    'delete account <id>': ([id], flags) =>
      withSession(flags, async ({ call, options, format }) => {
        await call('auth', 'Accounts.Delete', { id, options })
        await print(format, { id }, '')
      }),
    'test <service> <endpoint>': ([name, endpoint], flags) =>
      withSession(flags, async ({ call, options, format }) => {
        const resource = { type: flags.type ?? 'service', name: name, endpoint: endpoint }
        const { account = '', domain = '' } = flags
        const request = { resource, account, domain, options }
        const ruling = await call<TestedCall>('auth', 'Rules.Test', request)
        const { granted, rule, namespace, warning } = ruling
        const reason = rule === undefined ? 'no rule applies' : `rule ${rule.id}`
        await print(
          format,
          ruling,
          `${granted ? 'granted' : 'denied'} (${reason} in ${namespace})\n`,
        )
        warn(warning)
        if (!granted) process.exitCode = EXIT.failed
      }),
  },
  rawSubcommands: {
    reset: async (args) => (await import('../../auth/reset.ts')).runAuthReset(args),
  },
})

export default command

async function withSession(
  flags: AuthFlags,
  use: (session: AuthSession) => Promise<void>,
): Promise<void> {
  const format = toFormat(flags)
  const session = openSession(flags)
  try {
    await use({ ...session, format, options: { namespace: session.namespace } })
  } finally {
    session.close()
  }
}

function warn(warning: string | undefined): void {
  if (warning !== undefined) printProblems([warning])
}

/**
 * Prompts on a terminal before a change that locks out all users, or prevents the caller from changing rules (reference
 * 15.14).
 */
async function changeRules(
  call: Session['call'],
  endpoint: string,
  request: object,
  force: boolean,
): Promise<{ readonly warning?: string }> {
  try {
    return await call('auth', endpoint, { ...request, force })
  } catch (error) {
    const consequence = findConsequence(error)
    if (consequence === undefined || !process.stdin.isTTY) throw error
    const answer = await prompt(`${consequence}. Continue? [y/N] `, '--force')
    if (!/^y(?:es)?$/i.test(answer.trim()))
      throw new CliError('canceled: nothing was changed', { cause: error })
    return await call('auth', endpoint, { ...request, force: true })
  }
}

/** Effect of a change that requires `--force`; undefined for other errors. */
function findConsequence(error: unknown): string | undefined {
  if (!(error instanceof CliError && error.cause instanceof GatewayError)) return undefined
  const { code, message } = error.cause
  return code === 409 ? /^(.+); set request\.force/.exec(message)?.[1] : undefined
}

async function readSecret(flag: string | undefined): Promise<string | undefined> {
  return flag === STANDARD_INPUT ? await readInput() : flag
}

/** Lifetime of a token in seconds; 0 for the service's default. */
function toSeconds(text: string | undefined): number {
  if (text === undefined) return 0
  const seconds = parseExpiry(text)
  if (seconds > 0 && Number.isFinite(seconds)) return seconds
  throw usageError('auth', `--expiry must be a duration such as 15m or 1h, got ${text}`)
}

function toRow({ id, scope, access, resource, priority }: Rule): readonly string[] {
  return [id, scope || PUBLIC, access, formatResource(resource), String(priority)]
}

function formatResource({ type, name, endpoint }: Rule['resource']): string {
  return `${type}:${name}:${endpoint}`
}

/** Compares by resource and priority, in descending order. */
function compareRules(a: Rule, b: Rule): number {
  const [left, right] = [formatResource(a.resource), formatResource(b.resource)]
  return left === right ? b.priority - a.priority : left < right ? 1 : -1
}

function toAccess(text: string): string {
  const access = text.toUpperCase()
  if (access === 'GRANTED' || access === 'DENIED') return access
  throw new CliError(`Invalid access: ${text}, must be granted or denied`, { status: EXIT.usage })
}

function toResource(text: string | undefined): Rule['resource'] {
  if (text === undefined)
    throw usageError(
      'auth',
      '--resource is missing: type:name:endpoint, such as service:helloworld:*; *:*:* is every resource',
    )
  const [type, name, endpoint, ...more] = text.split(':')
  if (type && name && endpoint && more.length === 0) return { type, name, endpoint }
  throw new CliError(`Invalid resource: ${text}, must be in the format type:name:endpoint`, {
    status: EXIT.usage,
  })
}

function toPriority(text: string): number {
  if (/^-?\d{1,9}$/.test(text)) return Number(text)
  throw new CliError(`Invalid priority: ${text}, must be a whole number`, { status: EXIT.usage })
}
