/** Count of a quota in the current period. */
export interface UsageMessage {
  readonly quota: string
  readonly period: 'day' | 'month'
  readonly account: string
  /** Empty if the count includes all keys of the account. */
  readonly api_key: string
  readonly used: number
  readonly limit: number
  /** Seconds since 1970. */
  readonly ends: number
}

/** Page of `RequestQuotas.List`. */
export interface UsagePage {
  readonly usage: readonly UsageMessage[]
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string
}

const PERIODS = ['day', 'month'] as const

/** Reads the counts of the current day and month. */
export async function readUsage(
  readPage: (period: UsageMessage['period'], after: string) => Promise<UsagePage>,
): Promise<readonly UsageMessage[]> {
  const all: UsageMessage[] = []
  for (const period of PERIODS)
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page: UsagePage = await readPage(period, after)
      all.push(...page.usage)
      after = page.next
    }
  return all
}

/** Returns the used part of a limit as a whole percentage, rounded down. */
export function toPercent({ used, limit }: UsageMessage): number {
  return limit === 0 ? 0 : Math.floor((used * 100) / limit)
}
