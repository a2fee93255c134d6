import t from 'tap'
import {
  countFailures,
  findDeploymentFailure,
} from '../../../../adapters/runtime/kubernetes/failure.ts'
import {
  type Deployment,
  type Pod,
  toDeploymentState,
  toPod,
} from '../../../../adapters/runtime/kubernetes/objects.ts'

const KEY = JSON.stringify({ namespace: 'mx', name: 'shop', version: 'latest' })
const DEPLOYMENT: Deployment = toDeploymentState({ metadata: { annotations: { 'mx/key': KEY } } })!
const ENDED = { reason: 'Error', exitCode: 3, message: 'one\nboom\n', ranMs: 10 }

const pod = (changes: Partial<Pod>): Pod => ({ ...toPod({}), ...changes })
const crashedPod = (restarts: number, changes: Partial<Pod> = {}): Pod =>
  pod({ restarts, ended: ENDED, waiting: { reason: 'CrashLoopBackOff', message: '' }, ...changes })
const fail = (failedPod: Pod, hasOldPods = false): string | undefined =>
  findDeploymentFailure(DEPLOYMENT, [failedPod], hasOldPods)

t.test('counts consecutive failures since the last stable run', async (t) => {
  t.equal(countFailures(pod({})), 0)
  t.equal(countFailures(crashedPod(0)), 1)
  t.equal(countFailures(crashedPod(4)), 5)
  t.equal(countFailures(crashedPod(4, { isRunning: true, waiting: undefined })), 4)
  t.equal(countFailures(crashedPod(4, { readySinceMs: 1 })), 0)
  t.equal(countFailures(crashedPod(40, { ended: { ...ENDED, ranMs: 600_000 } })), 1)
})

t.test('gives up after 5 failures, or after 2 while another revision serves', async (t) => {
  const text = 'CrashLoopBackOff: exit code 3: boom'
  t.equal(fail(crashedPod(3)), undefined)
  t.equal(fail(crashedPod(4)), text)
  t.equal(fail(crashedPod(0), true), undefined)
  t.equal(fail(crashedPod(1), true), text)
  t.equal(fail(crashedPod(5, { isRunning: true, waiting: undefined })), text, 'until it is ready')
})

t.test(
  'reports a permanent start failure immediately with the message of Kubernetes',
  async (t) => {
    const waits = (reason: string, message = ''): string | undefined =>
      fail(pod({ waiting: { reason, message } }))
    t.equal(waits('ContainerCreating'), undefined)
    t.equal(
      waits('ImagePullBackOff', 'Back-off pulling image "x"'),
      'ImagePullBackOff: Back-off pulling image "x"',
    )
    t.equal(
      waits('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root'),
      'CreateContainerConfigError: container has runAsNonRoot and image will run as root',
    )
    t.equal(waits('InvalidImageName'), 'InvalidImageName')
  },
)

t.test('includes the reason for an exit if it adds to the exit code', async (t) => {
  const end = (ended: Partial<typeof ENDED>): string | undefined =>
    fail(crashedPod(4, { ended: { ...ENDED, message: '', ...ended } }))
  t.equal(end({ reason: 'OOMKilled', exitCode: 137 }), 'CrashLoopBackOff: OOMKilled, exit code 137')
  t.equal(end({ reason: 'Completed', exitCode: 0 }), 'CrashLoopBackOff: exit code 0')
  t.equal(
    end({ message: 'x'.repeat(9000) })?.length,
    'CrashLoopBackOff: exit code 3: '.length + 500,
  )
})

t.test('reports an exceeded deadline with its cause', async (t) => {
  const late = { ...DEPLOYMENT, isLate: true }
  const findFailure = (...pods: Pod[]): string | undefined =>
    findDeploymentFailure(late, pods, false)
  const ready = pod({ readySinceMs: 1 })
  t.equal(findFailure(), 'not ready within 300 s')
  t.equal(
    findFailure(ready, pod({ unscheduled: '0/3 nodes' })),
    'not ready within 300 s: no node can run it: 0/3 nodes',
  )
  t.equal(
    findFailure(pod({ isRunning: true })),
    'not ready within 300 s: not listening on its port',
  )
  t.equal(
    findFailure(pod({ waiting: { reason: 'ContainerCreating', message: '' } })),
    'not ready within 300 s: ContainerCreating',
  )
  t.equal(findFailure(crashedPod(0)), 'not ready within 300 s: CrashLoopBackOff: exit code 3: boom')
  t.equal(findDeploymentFailure({ ...late, failure: 'quota' }, [], false), 'quota')
})
