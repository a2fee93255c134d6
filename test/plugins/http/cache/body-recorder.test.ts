import t from 'tap'
import { replyMemory } from '../../../../core/limits/memory-budget.ts'
import { BodyRecorder } from '../../../../plugins/http/cache/body-recorder.ts'

function record(length: number, chunks: readonly string[], isComplete = true) {
  let body: string | undefined
  let overflows = 0
  const recorder = new BodyRecorder({
    ...{ maxBytes: 5, length },
    onComplete: (bytes) => {
      body = Buffer.from(bytes).toString()
    },
    onOverflow: () => overflows++,
  })
  for (const chunk of chunks) recorder.onChunk(Buffer.from(chunk))
  recorder.onEnd(isComplete)
  return [body, overflows]
}

t.test('records complete bodies within the limit', (t) => {
  const before = replyMemory.usedBytes
  t.strictSame(record(-1, []), ['', 0])
  t.strictSame(record(-1, ['abc', 'de']), ['abcde', 0])
  t.strictSame(record(3, ['abc']), ['abc', 0])
  t.strictSame(record(4, ['abc']), [undefined, 0], 'another length than announced')
  t.strictSame(record(-1, ['abc'], false), [undefined, 0], 'incomplete')
  t.strictSame(record(-1, ['abc', 'def', 'g']), [undefined, 1], 'too long')
  t.equal(replyMemory.usedBytes, before)
  t.end()
})

t.test('records nothing while slow clients use the memory of the process', (t) => {
  const { usedBytes } = replyMemory
  replyMemory.usedBytes = replyMemory.maxBytes
  t.strictSame(record(-1, ['abc']), [undefined, 1])
  replyMemory.usedBytes = usedBytes
  t.end()
})
