import t from 'tap'
import { type AccountMessage, MOST_ACCOUNTS, readAccounts } from '../../../web/auth/account.ts'

const account = (id: number): AccountMessage => ({
  ...{ id: String(id), name: String(id), type: 'user', issuer: 'mx' },
  ...{ scopes: [], metadata: {}, created: 0 },
})

t.test('accounts are read page by page', async (t) => {
  const asked: string[] = []
  const found = await readAccounts(async (after) => {
    asked.push(after)
    const first = after === '' ? 0 : Number(after) + 1
    const accounts = [account(first), account(first + 1)]
    return first < 4 ? { accounts, next: accounts[1]!.id } : { accounts }
  })
  t.strictSame(asked, ['', '1', '3'])
  t.strictSame(
    found.map(({ id }) => id),
    ['0', '1', '2', '3', '4', '5'],
  )
})

t.test('it ends when there are enough', async (t) => {
  const page = Array.from({ length: 1000 }, (_, i) => account(i))
  const found = await readAccounts(async () => ({ accounts: page, next: 'more' }))
  t.equal(found.length, MOST_ACCOUNTS)
})
