import t from 'tap'
import { createProgress } from '../../../../domain/events/log/ack-cursor.ts'

t.test('needs no memory for acknowledgements in order', (t) => {
  const progress = createProgress(10)
  for (const sequence of [11, 12, 13]) t.equal(progress.finish(sequence), true)
  t.equal(progress.acked, 13)
  t.equal(progress.ahead.size, 0)
  t.end()
})

t.test('retains acknowledgements ahead of the cursor', (t) => {
  const progress = createProgress(0)
  for (const sequence of [3, 5, 2]) t.equal(progress.finish(sequence), true)
  t.equal(progress.acked, 0)
  t.strictSame([...progress.ahead].sort(), [2, 3, 5])
  t.strictSame(
    [1, 2, 3, 4, 5].map((sequence) => progress.isDone(sequence)),
    [false, true, true, false, true],
  )
  t.equal(progress.finish(3), false, 'already acknowledged')
  progress.finish(1)
  t.equal(progress.acked, 3)
  t.equal(progress.finish(1), false)
  progress.finish(4)
  t.equal(progress.acked, 5)
  t.equal(progress.ahead.size, 0)
  t.end()
})

t.test('skipTo drops acknowledgements before the position and merges later ones', (t) => {
  const progress = createProgress(0, [3, 8, 10])
  progress.skipTo(7)
  t.equal(progress.acked, 8)
  t.strictSame([...progress.ahead], [10])
  progress.skipTo(5)
  t.equal(progress.acked, 8, 'the cursor never moves back')
  t.equal(createProgress(0, [1, 2, 4]).acked, 2)
  t.end()
})
