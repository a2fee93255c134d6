import t from 'tap'
import authCommand from '../../../cli/commands/platform/auth.ts'
import { openCliServer } from '../../fixtures/cli-server.ts'

const { run, mx } = await openCliServer(t)
const auth = (...args: string[]) => run(authCommand, ...args)
const KEY = /^mxk_([0-9a-f]{16})_[\w-]{43}\n$/

t.test('creates, lists, rotates and deletes keys', async (t) => {
  await auth('create', 'account', 'jane', '--secret=first-secret', '--scopes=reports')
  const created = await auth('create', 'key', 'ci', '--account=jane', '--scopes=reports')
  t.match(created, KEY)
  const [, id] = KEY.exec(created)!
  const other = await auth('create', 'key', 'own', '--expiry=90d', '--day_limit=5', '-o', 'json')
  t.match(JSON.parse(other), { key: String, account: 'admin', limits: { day: 5, month: 0 } })
  t.match(
    await auth('list', 'keys', '--account=jane'),
    new RegExp(
      `^ID\t+Account\t+Name\t+Scopes\t+Expires\t+Last used\n${id}\t+jane\t+ci\t+reports\t+never\t+never\n$`,
    ),
  )
  t.match(await auth('list', 'keys', '--account=*'), /\tadmin\t+own\t+n\/a\t+20\d\d-\d\d-\d\dT/)
  const rotated = await auth('rotate', 'key', id!, '--grace=1h')
  t.match(rotated, KEY)
  t.not(rotated, created)
  t.equal(await auth('delete', 'key', id!), 'API key deleted\n')
  await t.rejects(auth('delete', 'key', id!), { message: /API key not found/ })
})

t.test('a malformed duration or limit exits 2 and names the flag', async (t) => {
  for (const [flag, problem] of [
    ['--expiry=soon', '--expiry must be a duration'],
    ['--expiry=none', '--expiry must be a duration such as 90d'],
    ['--day_limit=many', '--day_limit must be a whole number'],
  ] as const)
    await t.rejects(auth('create', 'key', 'ci', flag), { status: 2, message: new RegExp(problem) })
  await t.rejects(auth('rotate', 'key', 'x', '--grace=soon'), { status: 2, message: /^--grace / })
  t.match(await mx(['auth', 'create', 'key']), { code: 2 })
})
