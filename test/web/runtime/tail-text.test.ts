import t from 'tap'
import { createTailText } from '../../../web/runtime/tail-text.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

t.test('decodes chunks that end within a character', async (t) => {
  const tail = createTailText(100)
  const complete = bytes('grün\n')
  tail.push(complete.subarray(0, 3))
  tail.push(complete.subarray(3))
  t.equal(tail.text(), 'grün\n')
  t.equal(tail.isTruncated(), false)
})

t.test('retains the last complete lines', async (t) => {
  const tail = createTailText(20)
  for (let i = 0; i < 1000; i++) tail.push(bytes(`line ${i}\n`))
  t.match(tail.text(), /^(line \d+\n)+$/)
  t.ok(tail.text().endsWith('line 999\n'))
  t.ok(tail.text().length <= 40)
  t.equal(tail.isTruncated(), true)
  tail.push(bytes('x'.repeat(100)))
  t.equal(tail.text(), 'x'.repeat(20), 'a line without a line break is cut')
  tail.clear()
  t.strictSame([tail.text(), tail.isTruncated()], ['', false])
})
