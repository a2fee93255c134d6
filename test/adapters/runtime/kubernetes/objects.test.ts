import t from 'tap'
import {
  isManaged,
  toDeploymentState,
  toPod,
} from '../../../../adapters/runtime/kubernetes/objects.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }
const ANNOTATIONS = { 'mx/revision': 'r', 'mx/attempt': 'a', 'mx/secret': 's' }

function makeDeployment(status: object, metadata: object = {}): object {
  return {
    metadata: { generation: 2, annotations: { 'mx/key': JSON.stringify(KEY) }, ...metadata },
    spec: { replicas: 3, template: { metadata: { annotations: ANNOTATIONS } } },
    status,
  }
}

t.test('ignores a Deployment not created by mx', async (t) => {
  for (const annotations of [{}, { 'mx/key': 'shop' }, { 'mx/key': '{"name":"shop"}' }])
    t.equal(toDeploymentState({ metadata: { annotations } }), undefined)
  t.equal(toDeploymentState({}), undefined)
})

t.test('ignores conditions of an earlier generation', async (t) => {
  const lastUpdateTime = '2026-11-22T15:00:00Z'
  const conditions = [{ type: 'Progressing', reason: 'NewReplicaSetAvailable', lastUpdateTime }]
  const state = toDeploymentState(makeDeployment({ observedGeneration: 2, conditions }))
  t.match(state, { key: KEY, instances: 3, revision: 'r', attempt: 'a', secret: 's' })
  t.equal(state?.settledMs, Date.parse(lastUpdateTime))
  const stale = toDeploymentState(makeDeployment({ observedGeneration: 1, conditions }))
  t.equal(stale?.settledMs, undefined)
  const late = [{ type: 'Progressing', reason: 'ProgressDeadlineExceeded' }]
  t.match(toDeploymentState(makeDeployment({ observedGeneration: 2, conditions: late })), {
    isLate: true,
    settledMs: undefined,
  })
})

t.test('reports why pods cannot be created', async (t) => {
  const toFailure = (status: string): string | undefined =>
    toDeploymentState(
      makeDeployment({
        observedGeneration: 2,
        conditions: [{ type: 'ReplicaFailure', status, message: 'exceeded quota' }],
      }),
    )?.failure
  t.equal(toFailure('True'), 'exceeded quota')
  t.equal(toFailure('False'), undefined)
})

t.test('treats a terminating pod as not ready', async (t) => {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-11-22T15:00:00Z' }]
  const pod = { metadata: { name: 'a', labels: { 'mx/workload': 'id' } }, status: { conditions } }
  t.match(toPod(pod), { name: 'a', workload: 'id', readySinceMs: 1795359600000 })
  const metadata = { ...pod.metadata, deletionTimestamp: '2026-11-22T15:01:00Z' }
  t.match(toPod({ ...pod, metadata }), { isEnding: true, readySinceMs: undefined })
})

t.test('treats an evicted pod as ended', async (t) => {
  for (const phase of ['Failed', 'Succeeded'])
    t.match(toPod({ status: { phase } }), { isEnding: true })
  for (const phase of ['Pending', 'Running', 'Unknown'])
    t.match(toPod({ status: { phase } }), { isEnding: false })
})

t.test('reports the current exit of a container, or otherwise its last one', async (t) => {
  const toEnded = (state: object, lastState: object = {}) =>
    toPod({
      status: {
        containerStatuses: [
          { name: 'sidecar', state: { terminated: { exitCode: 9 } } },
          { name: 'main', restartCount: 2, state, lastState },
        ],
      },
    })
  const before = { terminated: { exitCode: 1 } }
  t.match(toEnded({ terminated: { exitCode: 2 } }, before), { ended: { exitCode: 2 } })
  t.match(toEnded({ waiting: { reason: 'CrashLoopBackOff' } }, before), {
    restarts: 2,
    waiting: { reason: 'CrashLoopBackOff' },
    ended: { exitCode: 1 },
  })
  t.match(toEnded({ running: {} }), { isRunning: true, ended: undefined })
  const times = { startedAt: '2026-11-22T15:00:00Z', finishedAt: '2026-11-22T15:00:02Z' }
  t.match(toEnded({ terminated: times }), { ended: { ranMs: 2000 } })
})

t.test('matches a pod to a Deployment by revision, attempt and Secret', async (t) => {
  const template = { revision: 'r', attempt: undefined, secret: 's' }
  t.ok(isManaged(template, { ...toPod({}), ...template }))
  for (const other of [{ revision: 'q' }, { attempt: 'b' }, { secret: 'z' }])
    t.notOk(isManaged(template, { ...toPod({}), ...template, ...other }))
})
