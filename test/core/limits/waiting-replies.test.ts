import t from 'tap'
import { replyMemory } from '../../../core/limits/memory-budget.ts'
import { beginWait, endWait, type WaitingReply } from '../../../core/limits/waiting-replies.ts'

t.test('cuts the response that waits longest when no memory is left for pending responses', (t) => {
  const { maxBytes } = replyMemory
  const usedBytes = replyMemory.usedBytes
  replyMemory.maxBytes = 600
  t.teardown(() => {
    replyMemory.maxBytes = maxBytes
  })
  const ended: string[] = []
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(
    (name): WaitingReply => ({ abortWaiting: () => ended.push(name) }),
  ) as [WaitingReply, WaitingReply, WaitingReply, WaitingReply]
  for (const reply of [a, b, c]) beginWait(reply, 100)
  t.strictSame(ended, [], 'pending responses may use half of the memory')
  beginWait(b, 100)
  t.equal(
    replyMemory.usedBytes - usedBytes,
    300,
    'a response that is already pending is counted once',
  )
  endWait(a)
  beginWait(a, 100)
  beginWait(d, 150)
  t.strictSame(ended, ['b', 'c'], 'a response read in between has the shortest wait')
  beginWait(b, 400)
  t.strictSame(
    ended,
    ['b', 'c', 'a', 'd', 'b'],
    'a response larger than the limit cuts all responses, including itself',
  )
  for (const reply of [a, b, c, d]) endWait(reply)
  t.equal(replyMemory.usedBytes, usedBytes)
  t.end()
})
