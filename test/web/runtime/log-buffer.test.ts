import t from 'tap'
import { createLogBuffer, type LogBuffer } from '../../../web/runtime/log-buffer.ts'
import { createTextPattern } from '../../../web/runtime/text-pattern.ts'

function push(buffer: LogBuffer, ...messages: string[]): void {
  for (const message of messages) buffer.push({ timestamp: 1, metadata: {}, message })
}

function list(buffer: LogBuffer): readonly string[] {
  return Array.from({ length: buffer.length() }, (_, i) => buffer.at(i)!.message)
}

function matches(buffer: LogBuffer): readonly string[] {
  return Array.from({ length: buffer.matches() }, (_, n) => buffer.at(buffer.matchAt(n)!)!.message)
}

t.test('retains the newest lines and counts dropped ones', async (t) => {
  const buffer = createLogBuffer({ maxLines: 3, maxCharacters: 1000 })
  t.equal(buffer.at(0), undefined)
  push(buffer, 'a', 'b', 'c', 'd', 'e')
  t.strictSame(list(buffer), ['c', 'd', 'e'])
  t.equal(buffer.dropped(), 2)
  t.equal(buffer.at(0)!.number, 2)
  t.equal(buffer.at(-1), undefined)
  t.equal(buffer.at(3), undefined)
})

t.test('drops lines over the character limit, but retains the newest', async (t) => {
  const buffer = createLogBuffer({ maxLines: 10, maxCharacters: 10 })
  push(buffer, 'aaaa', 'bbbb', 'cccc')
  t.strictSame(list(buffer), ['bbbb', 'cccc'])
  push(buffer, 'x'.repeat(50))
  t.equal(buffer.length(), 1)
  push(buffer, 'd')
  t.strictSame(list(buffer), ['d'])
})

t.test('searches retained and new lines, but never dropped ones', async (t) => {
  const buffer = createLogBuffer({ maxLines: 4, maxCharacters: 1000 })
  push(buffer, 'one', 'Two', 'three')
  buffer.search(createTextPattern('t'))
  t.strictSame(matches(buffer), ['Two', 'three'])
  push(buffer, 'ten', 'none', 'eleven')
  t.strictSame(list(buffer), ['three', 'ten', 'none', 'eleven'])
  t.strictSame(matches(buffer), ['three', 'ten'])
  buffer.search(undefined)
  t.equal(buffer.matches(), 0)
  t.equal(buffer.matchAt(0), undefined)
})

t.test('finds the next match after a line', async (t) => {
  const buffer = createLogBuffer({ maxLines: 4, maxCharacters: 1000 })
  buffer.search(createTextPattern('x'))
  push(buffer, 'x0', 'a', 'x2', 'b', 'x4')
  t.strictSame(list(buffer), ['a', 'x2', 'b', 'x4'])
  t.equal(buffer.findMatch(0), 0)
  t.equal(buffer.findMatch(1), 0)
  t.equal(buffer.findMatch(2), 1)
  t.equal(buffer.findMatch(4), 2, 'no match')
  t.equal(buffer.matchAt(2), undefined)
  t.equal(buffer.matchAt(-1), undefined)
})

t.test('bounds the number of stored matches', async (t) => {
  const buffer = createLogBuffer({ maxLines: 10, maxCharacters: 1000 })
  buffer.search(createTextPattern('x'))
  for (let i = 0; i < 1000; i++) push(buffer, `x${i}`)
  t.equal(buffer.matches(), 10)
  t.equal(buffer.at(buffer.matchAt(0)!)!.message, 'x990')
  t.equal(buffer.at(buffer.matchAt(9)!)!.message, 'x999')
})

t.test('starts over after clear, with the same search', async (t) => {
  const buffer = createLogBuffer({ maxLines: 2, maxCharacters: 1000 })
  buffer.search(createTextPattern('b'))
  push(buffer, 'a', 'b', 'c')
  buffer.clear()
  t.strictSame([buffer.length(), buffer.dropped(), buffer.matches()], [0, 0, 0])
  push(buffer, 'b')
  t.strictSame(matches(buffer), ['b'])
})
