import t from 'tap'
import { replyMemory } from '../../../core/limits/memory-budget.ts'
import { beginWait, endWait, type WaitingReply } from '../../../core/limits/waiting-replies.ts'

t.test('without room for the responses that wait, the longest wait is ended', (t) => {
  const { maxBytes } = replyMemory
  const usedBytes = replyMemory.usedBytes
  replyMemory.maxBytes = 600
  t.teardown(() => {
    replyMemory.maxBytes = maxBytes
  })
  const ended: string[] = []
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(
    (name): WaitingReply => ({ cutWaiting: () => ended.push(name) }),
  ) as [WaitingReply, WaitingReply, WaitingReply, WaitingReply]
  for (const reply of [a, b, c]) beginWait(reply, 100)
  t.strictSame(ended, [], 'half of the memory is theirs')
  beginWait(b, 100)
  t.equal(replyMemory.usedBytes - usedBytes, 300, 'a response that waits already counts once')
  endWait(a)
  beginWait(a, 100)
  beginWait(d, 150)
  t.strictSame(ended, ['b', 'c'], 'one that was read in between has waited shortest')
  beginWait(b, 400)
  t.strictSame(ended, ['b', 'c', 'a', 'd', 'b'], 'one that is too large for all of it')
  for (const reply of [a, b, c, d]) endWait(reply)
  t.equal(replyMemory.usedBytes, usedBytes)
  t.end()
})
