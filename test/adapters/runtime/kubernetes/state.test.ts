import t from 'tap'
import {
  type Deployment,
  type Pod,
  toDeploymentState,
  toPod,
} from '../../../../adapters/runtime/kubernetes/objects.ts'
import { toState } from '../../../../adapters/runtime/kubernetes/state.ts'
import type { WorkloadState } from '../../../../core/contracts/runtime.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }
const DEPLOYMENT: Deployment = {
  ...toDeploymentState({ metadata: { annotations: { 'mx/key': JSON.stringify(KEY) } } })!,
  revision: '2',
  instances: 2,
}
const SETTLED = { settledMs: 500 }

const pod = (revision: string, changes: Partial<Pod> = {}): Pod => ({
  ...toPod({}),
  revision,
  ...changes,
})
const ready = (revision: string, readySinceMs = 1000): Pod => pod(revision, { readySinceMs })
const broken = (revision: string): Pod =>
  pod(revision, { waiting: { reason: 'ImagePullBackOff', message: '' } })
const state = (deployment: Partial<Deployment>, ...pods: Pod[]): WorkloadState =>
  toState({ ...DEPLOYMENT, ...deployment }, pods)

t.test('runs a first revision when all instances are ready', async (t) => {
  t.same(state({}), { ...KEY, revision: '2', status: 'starting', ready: 0, retries: 0 })
  t.match(state({}, pod('2')), { status: 'starting' })
  t.match(state({}, ready('2'), pod('2')), { status: 'starting', ready: 1 })
  t.match(state({}, ready('2'), ready('2')), { status: 'running', ready: 2 })
})

t.test('is pending while no node can run any instance', async (t) => {
  const unscheduled = pod('2', { unscheduled: 'no memory' })
  const waiting = 'no node can run it: no memory'
  t.match(state({}, unscheduled, unscheduled), { status: 'pending', waiting, error: undefined })
  t.match(state({}, unscheduled, pod('2')), { status: 'starting', waiting })
  t.match(state({}, ready('1'), unscheduled), { revision: '1', status: 'running', waiting })
  t.notOk('waiting' in state(SETTLED, ready('2')))
})

t.test('keeps running while any instance is ready', async (t) => {
  t.match(state(SETTLED, ready('2'), pod('2')), { status: 'running', ready: 1 })
  t.match(state(SETTLED, pod('2'), pod('2')), { status: 'starting', startedMs: 500 })
  t.match(state(SETTLED, ready('2', 1000), ready('2', 3000)), { startedMs: 3000 })
})

t.test('reports the old revision until the new one is complete', async (t) => {
  t.match(state({}, ready('1'), ready('2'), ready('2')), { revision: '1', status: 'running' })
  t.match(state(SETTLED, ready('2'), ready('2')), { revision: '2', status: 'running' })
  t.match(state({}, ready('1'), broken('2')), {
    revision: '1',
    status: 'running',
    error: 'ImagePullBackOff',
  })
})

t.test('reports restarts and the last failure of all instances', async (t) => {
  const ended = { reason: 'OOMKilled', exitCode: 137, message: '', ranMs: 1e6 }
  const repeated = { ...ready('2'), restarts: 2, ended }
  t.match(state(SETTLED, repeated, { ...ready('2'), restarts: 1 }), {
    ...{ status: 'running', restarts: 3, lastFailure: 'OOMKilled, exit code 137' },
  })
  t.match(state({}, ready('1'), { ...pod('2'), restarts: 1, ended }), {
    ...{ revision: '1', restarts: undefined, lastFailure: undefined },
  })
})

t.test('is in error when no instance runs or will run', async (t) => {
  t.match(state({}, broken('2')), { revision: '2', status: 'error', error: 'ImagePullBackOff' })
  t.match(state({}, broken('1'), pod('2')), { status: 'starting', error: undefined })
  t.match(state({}, ready('2'), broken('2')), { status: 'running', error: 'ImagePullBackOff' })
})

t.test('ignores ending pods and reports a deleted Deployment as stopping', async (t) => {
  t.match(state({}, { ...broken('2'), isEnding: true }), { status: 'starting', error: undefined })
  t.match(state({ ...SETTLED, isEnding: true }, ready('2')), { status: 'stopping' })
})
