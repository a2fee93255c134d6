import t from 'tap'
import { findPort } from '../../../../../adapters/runtime/process/ports.ts'
import { whenState } from '../../../../contracts/runtime.ts'
import {
  ANSWERS,
  makeWorkload,
  openProcessRuntime,
  startRunning,
} from '../../../../fixtures/process-runtime.ts'
import { until } from '../../../../fixtures/raw-backend.ts'

t.test('20 updates under calls: none fails, and each is served', async (t) => {
  const { runtime, doors } = openProcessRuntime(t)
  const workload = makeWorkload(t, ANSWERS, { instances: 2, env: { REPLY: '0' } })
  await startRunning(runtime, workload)
  const failed: unknown[] = []
  const replies = new Set<string>()
  let isOver = false
  let calls = 0
  const callers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await doors.call('shop').then(
        (reply) => replies.add(reply),
        (error) => failed.push(error),
      )
      calls++
    }
  })
  for (let i = 1; i <= 20; i++) {
    await startRunning(runtime, { ...workload, revision: `r${i}`, env: { REPLY: String(i) } })
    await until(() => replies.has(String(i)))
  }
  isOver = true
  await Promise.all(callers)
  t.strictSame(failed, [])
  t.equal(replies.size, 21)
  t.comment(`${calls} calls`)
})

t.test('a port of its own: told in PORT, and the old copy makes room', async (t) => {
  const { runtime, doors } = openProcessRuntime(t)
  const port = await findPort(undefined)
  const workload = makeWorkload(t, ANSWERS, { port, env: { REPLY: 'a' } })
  await startRunning(runtime, workload)
  t.strictSame(doors.addresses.get('shop'), [`127.0.0.1:${port}`])
  await startRunning(runtime, { ...workload, revision: '2', env: { REPLY: 'b' } })
  t.equal(await doors.call('shop'), 'b')
  await runtime.apply({ ...workload, name: 'other' })
  const { error } = await whenState(
    runtime,
    ({ name, error }) => name === 'other' && error !== undefined,
  )
  t.match(error, `its port ${port} is taken`)
})

t.test('another revision while one comes up: the last that was asked for serves', async (t) => {
  const { runtime, doors } = openProcessRuntime(t)
  const workload = makeWorkload(t, ANSWERS, { env: { REPLY: 'a' } })
  await startRunning(runtime, workload)
  const silent = makeWorkload(t, 'setInterval(() => {}, 1000)', { revision: '2' })
  await runtime.apply(silent)
  await startRunning(runtime, { ...workload, revision: '3', env: { REPLY: 'c' } })
  await until(() => doors.addresses.get('shop')!.length === 1)
  t.equal(await doors.call('shop'), 'c')
  await runtime.apply({ ...silent, revision: '4' })
  await runtime.apply({ ...workload, revision: '3' })
  t.match(await runtime.read(), [{ revision: '3', status: 'running', ready: 1 }])
  await runtime.remove(workload)
  t.strictSame(doors.addresses.get('shop'), [])
})
