import { type Command, defineCommand } from '../../command.ts'
import { sessionFlags, withSession } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { formatTable } from '../../ui/table.ts'

interface Usage {
  readonly quota: string
  readonly period: string
  readonly account: string
  /** Empty if the count includes all keys of the account. */
  readonly api_key: string
  readonly used: number
  readonly limit: number
  /** Seconds since 1970. */
  readonly ends: number
}

interface UsagePage {
  readonly usage: readonly Usage[]
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string
}

const PERIODS = ['day', 'month']
const NONE = 'n/a'

const command: Command = defineCommand({
  name: 'quota',
  description: 'Show and reset the requests counted by the quota plugin',
  flags: {
    ...sessionFlags('Namespace of the accounts'),
    '--account <id>':
      'Account to show (default: administrators see all accounts, others their own)',
    '--quota <name>': 'reset: name of the quota (default: all)',
    '--key <id>': 'reset: id of an API key (default: the account and all its keys)',
    ...OUTPUT_FLAGS,
  },
  examples: ['mx quota', 'mx quota reset partner --quota=requests'],
  subcommands: {
    '': (_, flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const { account = '' } = flags
        const all: Usage[] = []
        for (const period of PERIODS)
          for (let after: string | undefined = ''; after !== undefined; ) {
            const request = { period, account, after, options: { namespace } }
            const page: UsagePage = await call('auth', 'RequestQuotas.List', request)
            all.push(...page.usage)
            after = page.next
          }
        const header = ['QUOTA', 'PERIOD', 'ACCOUNT', 'API KEY', 'USED', 'LIMIT', 'ENDS']
        await print(toFormat(flags), all, formatTable([header, ...all.map(toUsageRow)], 0))
      }),
    'reset <account>': ([account], flags) =>
      withSession(flags, async ({ call, namespace }) => {
        const { quota = '', key = '' } = flags
        const request = { account, quota, api_key: key, options: { namespace } }
        const reply = await call<{ count: number }>('auth', 'RequestQuotas.Reset', request)
        await print(toFormat(flags), reply, `Reset ${reply.count} counts of ${account}\n`)
      }),
  },
})

export default command

function toUsageRow({ quota, period, account, api_key, used, limit, ends }: Usage): string[] {
  const end = `${new Date(ends * 1000).toISOString().slice(0, 16)}Z`
  return [quota, period, account, api_key || NONE, String(used), String(limit), end]
}
