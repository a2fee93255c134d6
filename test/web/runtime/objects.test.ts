import t from 'tap'
import {
  compareObjects,
  findTarget,
  isBuilding,
  isStopping,
  type RuntimeObject,
  toObjectPath,
  toPhase,
  toStatus,
  toUpdateKind,
} from '../../../web/runtime/objects.ts'

const MAIL: RuntimeObject = {
  ...{ name: 'mail', version: 'latest', source: 'github.com/a/mail', status: 4, metadata: {} },
}

t.test('maps status numbers to names', async (t) => {
  t.equal(toStatus({ status: 4 }), 'running')
  t.equal(toStatus({ status: 99 }), 'unknown')
  t.ok(isStopping({ ...MAIL, status: 5 }))
  t.notOk(isStopping(MAIL))
})

t.test('describes an update in progress or a failed one', async (t) => {
  t.strictSame(toPhase(MAIL), { text: 'running', isBad: false })
  const updating = { ...MAIL, metadata: { update: 'building' } }
  t.strictSame(toPhase(updating), { text: 'running, update building', isBad: false })
  const failed = { ...MAIL, metadata: { error: 'no' } }
  t.strictSame(toPhase(failed), { text: 'running, update failed', isBad: true })
  t.strictSame(toPhase({ ...failed, status: 7 }), { text: 'error', isBad: true })
})

t.test('fetches branches, restarts commits and uploads', async (t) => {
  t.equal(toUpdateKind(MAIL), 'fetch')
  t.equal(toUpdateKind({ ...MAIL, version: '0123abc' }), 'restart')
  t.equal(toUpdateKind({ ...MAIL, source: 'source://mail:latest' }), 'restart')
})

t.test('sorts objects by name and version', async (t) => {
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

t.test('detects queued and running builds, including updates', async (t) => {
  t.notOk(isBuilding(MAIL))
  t.ok(isBuilding({ ...MAIL, status: 1 }))
  t.ok(isBuilding({ ...MAIL, metadata: { update: 'building' } }))
  t.notOk(isBuilding({ ...MAIL, metadata: { update: 'starting' } }))
})

t.test('selects latest without a version, or the only object', async (t) => {
  const old = { ...MAIL, version: 'v1' }
  t.equal(findTarget([old, MAIL], ''), MAIL)
  t.equal(findTarget([old], ''), old)
  t.equal(findTarget([old, { ...MAIL, version: 'v2' }], ''), undefined)
  t.equal(findTarget([old, MAIL], 'v1'), old)
  t.equal(findTarget([], ''), undefined)
})

t.test('builds the path of an object with any version', async (t) => {
  t.equal(toObjectPath({ ...MAIL, version: 'fix/a b' }), '/runtime/mail?version=fix%2Fa%20b')
})
