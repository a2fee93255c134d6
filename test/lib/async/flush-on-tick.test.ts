import t from 'tap'
import { flushAtTickEnd } from '../../../lib/async/flush-on-tick.ts'

const round = () => new Promise(setImmediate)

t.test('writers are flushed at the end of the tick, in the order of registration', async (t) => {
  const flushed: string[] = []
  for (const name of ['a', 'b', 'c']) flushAtTickEnd({ flush: () => void flushed.push(name) })
  await Promise.resolve()
  t.strictSame(flushed, [], 'not before the end of the tick')
  await round()
  t.strictSame(flushed, ['a', 'b', 'c'])
  await round()
  t.strictSame(flushed, ['a', 'b', 'c'], 'once')
})

t.test('a writer registered during a flush is flushed in the next tick', async (t) => {
  const flushed: string[] = []
  const late = { flush: () => void flushed.push('late') }
  flushAtTickEnd({ flush: () => flushAtTickEnd(late) })
  await round()
  t.strictSame(flushed, [])
  await round()
  t.strictSame(flushed, ['late'])
})

t.test('a writer that throws does not prevent other flushes', async (t) => {
  const flushed: string[] = []
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve))
  flushAtTickEnd({ flush: () => flushAtTickEnd({ flush: () => void flushed.push('nested') }) })
  flushAtTickEnd({
    flush: () => {
      throw new Error('broken')
    },
  })
  flushAtTickEnd({ flush: () => void flushed.push('after error') })
  t.match(await thrown, { message: 'broken' })
  await round()
  t.strictSame(flushed, ['nested', 'after error'])
  flushAtTickEnd({ flush: () => void flushed.push('later') })
  await round()
  t.equal(flushed.at(-1), 'later')
})
