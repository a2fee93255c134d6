import t, { type Test } from 'tap'
import type { WorkloadState } from '../../../../core/contracts/runtime.ts'
import { createFolders } from '../../../../services/runtime/jobs/folders.ts'
import {
  type DeploymentOptions,
  startDeployment,
  toMessage,
} from '../../../../services/runtime/state/deployment.ts'
import { makeRecord, makeRevision } from '../parts.ts'

const RUNNING: WorkloadState = {
  ...{ namespace: 'mx', name: 'helloworld', version: 'latest', revision: 'one' },
  ...{ status: 'running', ready: 1, retries: 0 },
}

/** Starts a deployment whose runtime reports these states. */
function start(
  t: Test,
  events: readonly (WorkloadState | undefined)[],
  overrides: Partial<DeploymentOptions> = {},
) {
  const phases: string[] = []
  const deployment = startDeployment({
    record: makeRecord(),
    folders: createFolders(t.testdir({})),
    acquireSlot: async () => () => {},
    async prepare(_, { onOutput }) {
      onOutput('building\n')
      return makeRevision('one')
    },
    apply: async () => {},
    async *states(signal) {
      yield* events
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
    onPhase: () => void phases.push(deployment.phase),
    ...overrides,
  })
  const read = async () => {
    const parts: string[] = []
    for await (const part of (await deployment.output).read(new AbortController().signal))
      parts.push(Buffer.from(part).toString())
    return parts.join('')
  }
  return { deployment, phases, read }
}

t.test('settles once the build runs', async (t) => {
  const older = { ...RUNNING, revision: 'zero' }
  const { deployment, phases, read } = start(t, [undefined, older, RUNNING])
  t.equal(deployment.phase, 'pending')
  t.match(await deployment.done, { id: 'one' })
  t.same(phases, ['building', 'starting'])
  t.equal(await read(), 'building\n')
})

t.test('queues only requests that need a build', async (t) => {
  const acquireSlot = () => new Promise<never>(() => {})
  const { asked, wish } = makeRecord()
  const records = [
    makeRecord({ asked: { ...asked, kind: 'restart' } }),
    makeRecord({ asked: { ...asked, kind: 'rollback' } }),
    makeRecord({ wish: { ...wish, image: 'shop:1' } }),
  ]
  for (const record of records) {
    const { deployment } = start(t, [RUNNING], { record, acquireSlot })
    t.match(await deployment.done, { id: 'one' })
  }
  const { deployment } = start(t, [RUNNING], {
    acquireSlot: async () => {
      throw new Error('no node available')
    },
  })
  await t.rejects(deployment.done, { message: 'no node available' })
})

t.test("fails with the runtime's error if the program does not start", async (t) => {
  const error = 'it exited with 1'
  const failed = { ...RUNNING, status: 'error', error } as const
  await t.rejects(start(t, [failed]).deployment.done, { message: error })
  const older = { ...RUNNING, revision: 'zero', error }
  await t.rejects(start(t, [older]).deployment.done, { message: error })
})

t.test('fails with the cause and writes it to the output if the build fails', async (t) => {
  const prepare = async () => {
    throw new Error('build failed\nlast output line')
  }
  const { deployment, read } = start(t, [], { prepare })
  await t.rejects(deployment.done, { message: 'build failed\nlast output line' })
  t.equal(await read(), 'build failed\n')
})

t.test('ends in every phase when cancelled', async (t) => {
  for (const events of [[], [{ ...RUNNING, revision: 'zero' }]]) {
    const { deployment } = start(t, events)
    await deployment.stop()
    await t.rejects(deployment.done, { message: 'the deployment was cancelled' })
  }
})

t.test('converts any thrown value to a message', async (t) => {
  t.equal(toMessage(new Error('a')), 'a')
  t.equal(toMessage('b'), 'b')
})
