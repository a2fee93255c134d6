import t from 'tap'
import type { FailureKind } from '../../../core/upstream/call.ts'
import { mayRetry } from '../../../core/upstream/retry.ts'

const first = { attempts: 1, another: true, kept: false, repeatable: true, replying: false }

t.test('what was never sent goes to the next node, whatever it is', async (t) => {
  for (const kind of ['connect', 'connect-timeout', 'full'] as const) {
    for (const repeatable of [true, false]) {
      t.equal(mayRetry(kind, { ...first, repeatable }), true)
      t.equal(mayRetry(kind, { ...first, repeatable, attempts: 2 }), true)
      t.equal(mayRetry(kind, { ...first, repeatable, another: false }), false, 'every node once')
    }
  }
})

t.test(
  'what may have been received is repeated once, if that does no harm and no reply had begun',
  async (t) => {
    t.equal(mayRetry('closed', first), true)
    t.equal(mayRetry('closed', { ...first, another: false }), false, 'every node once')
    t.equal(
      mayRetry('closed', { ...first, another: false, kept: true }),
      true,
      'on the same node when it is the only one, and lost a kept connection',
    )
    t.equal(mayRetry('closed', { ...first, attempts: 2 }), false)
    t.equal(mayRetry('closed', { ...first, repeatable: false }), false)
    t.equal(mayRetry('closed', { ...first, replying: true }), false)
  },
)

t.test('a slow or malformed reply is final', async (t) => {
  for (const kind of ['timeout', 'malformed'] satisfies FailureKind[])
    t.equal(mayRetry(kind, first), false)
})
