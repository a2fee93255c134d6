import t from 'tap'
import type { WorkloadState } from '../../../../core/contracts/runtime.ts'
import { type Live, withLive } from '../../../../services/runtime/state/live.ts'
import { makeRecord, makeRevision } from '../parts.ts'

const KEY = { namespace: 'mx', name: 'helloworld', version: 'latest' }

function toState(overrides: Partial<WorkloadState> = {}): WorkloadState {
  return { ...KEY, revision: 'one', status: 'running', ready: 1, retries: 0, ...overrides }
}

function toLive(overrides: Partial<Live> = {}): Live {
  return { deployment: undefined, state: undefined, nowMs: 5, ...overrides }
}

t.test('is pending, building and starting, in this order, on the first request', async (t) => {
  const record = makeRecord({ changedMs: 1 })
  t.equal(withLive(record, toLive()), record, 'nothing has changed')
  for (const phase of ['building', 'starting'] as const) {
    const next = withLive(record, toLive({ deployment: { requestId: 'one', phase } }))
    t.match(next, { status: phase, changedMs: 5 })
    t.notOk('update' in next)
  }
  const older = { requestId: 'zero', phase: 'starting' } as const
  t.match(withLive(record, toLive({ deployment: older })), { status: 'pending' })
})

t.test('is pending with a cause while waiting for a node', async (t) => {
  const record = makeRecord()
  const deployment = { requestId: 'one', phase: 'starting' } as const
  const state = toState({ status: 'pending', ready: 0, waiting: 'no node can run it: no memory' })
  const next = withLive(record, toLive({ deployment, state }))
  t.match(next, { status: 'pending', fault: 'no node can run it: no memory' })
  const deployed = withLive(next, toLive({ deployment, state: toState({ status: 'starting' }) }))
  t.match(deployed, { status: 'starting' })
  t.notOk('fault' in deployed)
})

t.test(
  'retains the status of the serving revision, and reports the phase in `update`',
  async (t) => {
    const record = makeRecord({
      ...{ settled: 'one', current: makeRevision('one'), status: 'running' },
      asked: { id: 'two', kind: 'build', upload: '' },
    })
    const state = toState()
    const deployment = { requestId: 'two', phase: 'building' } as const
    t.match(withLive(record, toLive({ state, deployment })), {
      status: 'running',
      update: 'building',
    })
    const finished = withLive({ ...record, settled: 'two', update: 'starting' }, toLive({ state }))
    t.notOk('update' in finished)
  },
)

t.test('retains the last error when the state is unknown', async (t) => {
  const settled = makeRecord({ settled: 'one', current: makeRevision('one'), status: 'running' })
  const state = toState({ status: 'error', error: 'exited with 1', retries: 5 })
  const broken = withLive(settled, toLive({ state }))
  t.match(broken, { status: 'error', fault: 'exited with 1', retries: 5 })
  t.equal(withLive(broken, toLive()), broken)
  const healthy = withLive(broken, toLive({ state: toState({ startedMs: 7 }) }))
  t.match(healthy, { status: 'running', startedMs: 7, retries: 0 })
  t.notOk('fault' in healthy)
})

t.test('reports restarts of instances while the service runs', async (t) => {
  const settled = makeRecord({ settled: 'one', current: makeRevision('one'), status: 'running' })
  const state = toState({ restarts: 3, lastFailure: 'exited with code 7' })
  const known = withLive(settled, toLive({ state }))
  t.match(known, { status: 'running', restarts: 3, lastFailure: 'exited with code 7' })
  t.equal(withLive(known, toLive({ state })), known)
  t.equal(withLive(known, toLive()), known, 'the same record is returned')
  const updated = withLive(known, toLive({ state: toState() }))
  t.notOk('restarts' in updated || 'lastFailure' in updated)
})

t.test('is stopping while being deleted', async (t) => {
  const record = makeRecord({ settled: 'one', current: makeRevision('one'), deleting: true })
  t.match(withLive(record, toLive({ state: toState() })), { status: 'stopping' })
})
