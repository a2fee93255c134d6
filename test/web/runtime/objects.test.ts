import t from 'tap'
import {
  compareObjects,
  findTarget,
  isBuilding,
  isLeaving,
  type RuntimeObject,
  toObjectPath,
  toPhase,
  toStatus,
  toUpdateKind,
} from '../../../web/runtime/objects.ts'

const MAIL: RuntimeObject = {
  ...{ name: 'mail', version: 'latest', source: 'github.com/a/mail', status: 4, metadata: {} },
}

t.test('states have names', async (t) => {
  t.equal(toStatus({ status: 4 }), 'running')
  t.equal(toStatus({ status: 99 }), 'unknown')
  t.ok(isLeaving({ ...MAIL, status: 5 }))
  t.notOk(isLeaving(MAIL))
})

t.test('an update that is under way or failed is told', async (t) => {
  t.strictSame(toPhase(MAIL), { text: 'running', isBad: false })
  const updating = { ...MAIL, metadata: { update: 'building' } }
  t.strictSame(toPhase(updating), { text: 'running, update building', isBad: false })
  const failed = { ...MAIL, metadata: { error: 'no' } }
  t.strictSame(toPhase(failed), { text: 'running, update failed', isBad: true })
  t.strictSame(toPhase({ ...failed, status: 7 }), { text: 'error', isBad: true })
})

t.test('a branch is fetched again, a commit or an upload restarted', async (t) => {
  t.equal(toUpdateKind(MAIL), 'fetch')
  t.equal(toUpdateKind({ ...MAIL, version: '0123abc' }), 'restart')
  t.equal(toUpdateKind({ ...MAIL, source: 'source://mail:latest' }), 'restart')
})

t.test('objects are in the order of names and versions', async (t) => {
  const sorted = [
    { ...MAIL, name: 'b' },
    { ...MAIL, name: 'a', version: 'v2' },
    { ...MAIL, name: 'a', version: 'v1' },
  ].sort(compareObjects)
  t.strictSame(
    sorted.map(({ name, version }) => `${name}@${version}`),
    ['a@v1', 'a@v2', 'b@latest'],
  )
})

t.test('a build that waits or goes on is known, of an update, too', async (t) => {
  t.notOk(isBuilding(MAIL))
  t.ok(isBuilding({ ...MAIL, status: 1 }))
  t.ok(isBuilding({ ...MAIL, metadata: { update: 'building' } }))
  t.notOk(isBuilding({ ...MAIL, metadata: { update: 'starting' } }))
})

t.test('without a version latest is meant, or the only one there is', async (t) => {
  const old = { ...MAIL, version: 'v1' }
  t.equal(findTarget([old, MAIL], ''), MAIL)
  t.equal(findTarget([old], ''), old)
  t.equal(findTarget([old, { ...MAIL, version: 'v2' }], ''), undefined)
  t.equal(findTarget([old, MAIL], 'v1'), old)
  t.equal(findTarget([], ''), undefined)
})

t.test('its page has a path, whatever its version is called', async (t) => {
  t.equal(toObjectPath({ ...MAIL, version: 'fix/a b' }), '/runtime/mail?version=fix%2Fa%20b')
})
