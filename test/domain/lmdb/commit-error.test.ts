import t from 'tap'
import { findReason } from '../../../domain/lmdb/commit-error.ts'
import { IO_ERROR } from '../../../domain/lmdb/disk-space.ts'

const fail = (commitError?: Promise<never>): Error =>
  Object.assign(new Error('Commit failed'), commitError && { commitError })

t.test('reports the cause of a failed commit', async (t) => {
  const reason = new Error('no space left')
  t.equal(await findReason(fail(Promise.reject(reason))), reason)
})

t.test('returns the error itself without a separate cause', async (t) => {
  const error = fail()
  t.equal(await findReason(error), error)
})

t.test('stops waiting for a cause that never arrives', async (t) => {
  const error = fail(new Promise(() => {}))
  t.equal(await findReason(error), error)
  t.match(error, { code: IO_ERROR })
})
