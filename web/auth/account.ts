/** An account without its secret (docs/auth.md, Accounts). */
export interface AccountMessage {
  readonly id: string
  readonly name: string
  readonly type: string
  /** Namespace of the account. */
  readonly issuer: string
  readonly scopes: readonly string[]
  readonly metadata: Readonly<Record<string, string>> | null
  /** Unix time in seconds; 0 if unknown. */
  readonly created: number
}

export interface AccountPage {
  readonly accounts: readonly AccountMessage[]
  /** Cursor of the next page. */
  readonly next?: string
}

/** Maximum number of listed accounts; the command line can list more. */
export const MAX_ACCOUNTS = 10_000

/** Name of the login credential: password for people, secret for machines. */
export function credentialOf(type: string): string {
  return type === 'service' ? 'secret' : 'password'
}

/** Reads all pages, up to {@link MAX_ACCOUNTS}. */
export async function readAccounts(
  readPage: (after: string) => Promise<AccountPage>,
): Promise<readonly AccountMessage[]> {
  const accounts: AccountMessage[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: AccountPage = await readPage(after)
    accounts.push(...page.accounts)
    after = accounts.length < MAX_ACCOUNTS ? page.next : undefined
  }
  return accounts
}
