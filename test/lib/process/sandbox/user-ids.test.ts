import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openUserIds } from '../../../../lib/process/sandbox/user-ids.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const RANGE = { first: 200_000, last: 200_001 }

t.test('each namespace has its own user id, even after a restart', async (t) => {
  const file = join(makeTempFolder(t, 'ids'), 'isolation', 'user-ids.json')
  const toUserId = openUserIds(file, RANGE)
  t.strictSame([toUserId('a'), toUserId('__proto__'), toUserId('a')], [200_000, 200_001, 200_000])
  t.equal(statSync(file).mode & 0o777, 0o600)
  const reopened = openUserIds(file, RANGE)
  t.strictSame([reopened('__proto__'), reopened('a')], [200_001, 200_000])
  t.throws(() => reopened('b'), { message: /namespace b; extend the `runtime_uids` range/ })
  const moved = openUserIds(file, { first: 200_001, last: 200_002 })
  t.equal(moved('a'), 200_002, 'an id of another namespace is never assigned')
})

t.test('an unreadable file of assignments is an error and is not replaced', async (t) => {
  const file = join(makeTempFolder(t, 'ids'), 'user-ids.json')
  writeFileSync(file, '{"a":')
  t.throws(() => openUserIds(file, RANGE), { message: /Cannot read the user ids/ })
})
