import t from 'tap'
import quotaCommand from '../../../../cli/commands/platform/quota.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { run, post } = await openCliServer(t)
const quota = (...args: string[]) => run(quotaCommand, ...args)

/** Counts a request of an account as a gateway does. */
async function count(account: string, apiKey = ''): Promise<void> {
  for (const period of ['day', 'month']) {
    const counter = { quota: 'requests', period, namespace: 'mx', account, apiKey }
    const { status } = await post('/auth/requestQuotas/reserve', {
      counter,
      limit: 10,
      requests: 1,
    })
    if (status !== 200) throw new Error(`status ${status}`)
  }
}

t.test('shows the counts of the day and the month, and resets them', async (t) => {
  await count('jane')
  await count('joe', '00112233445566ff')
  const all = await quota()
  t.match(all, /^QUOTA\t+PERIOD\t+ACCOUNT\t+API KEY\t+USED\t+LIMIT\t+ENDS\n/)
  t.match(all, /^requests\t+day\t+jane\t+n\/a\t+1\t+10\t+20\d\d-\d\d-\d\dT00:00Z$/m)
  t.match(all, /^requests\t+month\t+joe\t+00112233445566ff\t+1\t+10\t+20\d\d-\d\d-01T00:00Z$/m)
  t.notMatch(await quota('--account=jane'), 'joe')
  t.equal(await quota('reset', 'jane', '--quota=other'), 'Reset 0 counts of jane\n')
  t.equal(await quota('reset', 'jane'), 'Reset 2 counts of jane\n')
  t.match(JSON.parse(await quota('--account=jane', '-o', 'json')), [{ used: 0 }, { used: 0 }])
  t.equal(await quota('reset', 'joe', '--key=0f'), 'Reset 0 counts of joe\n')
})

t.test('a reset needs an account', async (t) => {
  await t.rejects(quota('reset'), {
    status: 2,
    message: /^Too few arguments, expected one argument: ACCOUNT/,
  })
})
