import t from 'tap'
import { type AccountMessage, MAX_ACCOUNTS, readAccounts } from '../../../web/auth/account.ts'

const account = (id: number): AccountMessage => ({
  ...{ id: String(id), name: String(id), type: 'user', issuer: 'mx' },
  ...{ scopes: [], metadata: {}, created: 0 },
})

t.test('reads accounts page by page', async (t) => {
  const cursors: string[] = []
  const accounts = await readAccounts(async (after) => {
    cursors.push(after)
    const first = after === '' ? 0 : Number(after) + 1
    const accounts = [account(first), account(first + 1)]
    return first < 4 ? { accounts, next: accounts[1]!.id } : { accounts }
  })
  t.strictSame(cursors, ['', '1', '3'])
  t.strictSame(
    accounts.map(({ id }) => id),
    ['0', '1', '2', '3', '4', '5'],
  )
})

t.test('stops reading at the limit of accounts', async (t) => {
  const page = Array.from({ length: 1000 }, (_, i) => account(i))
  const accounts = await readAccounts(async () => ({ accounts: page, next: 'more' }))
  t.equal(accounts.length, MAX_ACCOUNTS)
})
