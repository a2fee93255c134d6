import t from 'tap'
import { findReason } from '../../../domain/lmdb/commit-error.ts'
import { IO_ERROR } from '../../../domain/lmdb/disk-space.ts'

const fail = (commitError?: Promise<never>): Error =>
  Object.assign(new Error('Commit failed'), commitError && { commitError })

t.test('why a commit failed is told apart from that it did', async (t) => {
  const reason = new Error('no space left')
  t.equal(await findReason(fail(Promise.reject(reason))), reason)
})

t.test('what has no reason of its own is one', async (t) => {
  const error = fail()
  t.equal(await findReason(error), error)
})

t.test('a reason that never comes is not waited for without end', async (t) => {
  const error = fail(new Promise(() => {}))
  t.equal(await findReason(error), error)
  t.match(error, { code: IO_ERROR })
})
