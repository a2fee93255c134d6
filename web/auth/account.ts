/** As the service `auth` tells it, without its secret (docs/auth.md, Accounts). */
export interface AccountMessage {
  readonly id: string
  readonly name: string
  readonly type: string
  /** The namespace it belongs to. */
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
  /** Seconds since 1970; 0: unknown. */
  readonly created: number
}

export interface AccountPage {
  readonly accounts: readonly AccountMessage[]
  /** There are more: list after this id. */
  readonly next?: string
}

/** Accounts that are shown: more are found by the command line. */
export const MOST_ACCOUNTS = 10_000

/** Page by page, until there are enough. @param readPage the accounts after an id. */
export async function readAccounts(
  readPage: (after: string) => Promise<AccountPage>,
): Promise<readonly AccountMessage[]> {
  const accounts: AccountMessage[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: AccountPage = await readPage(after)
    accounts.push(...page.accounts)
    after = accounts.length < MOST_ACCOUNTS ? page.next : undefined
  }
  return accounts
}
