import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { withDeadline } from '../../../../services/runtime/jobs/deadline.ts'

const fail = async (signal: AbortSignal): Promise<never> => {
  await pause(60_000, undefined, { signal }).catch(() => {})
  throw signal.reason
}

t.test('ends work on timeout with 408 and forwards failures of the work', async (t) => {
  const { signal } = new AbortController()
  const work = { signal, onOutput: () => {} }
  t.equal(await withDeadline('it', 1000, work, async () => 7), 7)
  await t.rejects(withDeadline('it', 20, work, fail), {
    code: 408,
    message: 'it timed out after 20ms',
  })
  await t.rejects(withDeadline('it', 60_000, { ...work, timeoutMs: 20 }, fail), { code: 408 })
  const failing = async () => {
    throw new Error('work failed')
  }
  await t.rejects(withDeadline('it', 1000, work, failing), { message: 'work failed' })
  const aborted = { ...work, signal: AbortSignal.abort(new Error('given up')) }
  await t.rejects(withDeadline('it', 20, aborted, fail), { message: 'given up' })
})
