import t from 'tap'
import { findPort } from '../../../../../adapters/runtime/process/ports.ts'
import { whenState } from '../../../../contracts/runtime.ts'
import {
  makeWorkload,
  openProcessRuntime,
  SERVE_CODE,
  startRunning,
} from '../../../../fixtures/process-runtime.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'

t.test('serves all calls during 20 updates', async (t) => {
  const { runtime, registrar } = openProcessRuntime(t)
  const workload = makeWorkload(t, SERVE_CODE, { instances: 2, env: { REPLY: '0' } })
  await startRunning(runtime, workload)
  const failed: unknown[] = []
  const replies = new Set<string>()
  let hasEnded = false
  let calls = 0
  const callers = Array.from({ length: 8 }, async () => {
    while (!hasEnded) {
      await registrar.call('shop').then(
        (reply) => replies.add(reply),
        (error) => failed.push(error),
      )
      calls++
    }
  })
  for (let i = 1; i <= 20; i++) {
    await startRunning(runtime, { ...workload, revision: `r${i}`, env: { REPLY: String(i) } })
    await waitUntil(() => replies.has(String(i)))
  }
  hasEnded = true
  await Promise.all(callers)
  t.strictSame(failed, [])
  t.equal(replies.size, 21)
  t.comment(`${calls} calls`)
})

t.test('stops the old instance first if the port is fixed', async (t) => {
  const { runtime, registrar } = openProcessRuntime(t)
  const port = await findPort(undefined)
  const workload = makeWorkload(t, SERVE_CODE, { port, env: { REPLY: 'a' } })
  await startRunning(runtime, workload)
  t.strictSame(registrar.addresses.get('shop'), [`127.0.0.1:${port}`])
  await startRunning(runtime, { ...workload, revision: '2', env: { REPLY: 'b' } })
  t.equal(await registrar.call('shop'), 'b')
  await runtime.apply({ ...workload, name: 'other' })
  const { error } = await whenState(
    runtime,
    ({ name, error }) => name === 'other' && error !== undefined,
  )
  t.match(error, `port ${port} is already in use`)
})

t.test('serves the last applied revision when another arrives during a rollout', async (t) => {
  const { runtime, registrar } = openProcessRuntime(t)
  const workload = makeWorkload(t, SERVE_CODE, { env: { REPLY: 'a' } })
  await startRunning(runtime, workload)
  const silent = makeWorkload(t, 'setInterval(() => {}, 1000)', { revision: '2' })
  await runtime.apply(silent)
  await startRunning(runtime, { ...workload, revision: '3', env: { REPLY: 'c' } })
  await waitUntil(() => registrar.addresses.get('shop')!.length === 1)
  t.equal(await registrar.call('shop'), 'c')
  await runtime.apply({ ...silent, revision: '4' })
  await runtime.apply({ ...workload, revision: '3' })
  t.match(await runtime.read(), [{ revision: '3', status: 'running', ready: 1 }])
  await runtime.remove(workload)
  t.strictSame(registrar.addresses.get('shop'), [])
})
